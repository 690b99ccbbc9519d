"""Collects the problems of a request, so that the client gets all of them at once."""

from collections.abc import Iterable

from toolwire.errors import RequestError
from toolwire.surfaces.native.wire import Problem

MOST = 100
"""Maximum number of reported problems. More usually have one common cause."""


class InvalidRequest(RequestError):
    """The request is invalid. `problems` lists everything that is wrong."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        first, more = problems[0], len(problems) - 1
        text = first.message
        if more:
            text += f" There {'is' if more == 1 else 'are'} {more} more in 'problems'."
        super().__init__(text, param=first.path or None, code=first.code)
        self.problems = problems


class Problems:
    """Collects the problems of one request."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, path: str, message: str, code: str = "invalid_value") -> None:
        """Add a problem."""
        if len(self._found) < MOST:
            self._found.append(Problem(path, code, message))

    def take(self, errors: Iterable[RequestError]) -> None:
        """Add the problems of another error."""
        for error in errors:
            if isinstance(error, InvalidRequest):
                self._found += error.problems[: MOST - len(self._found)]
            else:
                self.add(error.param or "", error.message, error.code or "invalid_value")

    def check(self) -> None:
        """Raise `InvalidRequest` if there are any problems."""
        if self._found:
            raise InvalidRequest(tuple(self._found))
