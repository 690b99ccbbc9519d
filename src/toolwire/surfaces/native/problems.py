"""The problems of a request, collected, so that a client learns of all of them at once."""

from collections.abc import Iterable

from toolwire.errors import RequestError
from toolwire.surfaces.native.wire import Problem

MOST = 100
"""Problems that are listed: a program that gets more wrong has one cause for them."""


class InvalidRequest(RequestError):
    """Something is wrong with the request. `problems` is all of it."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        first, more = problems[0], len(problems) - 1
        text = first.message
        if more:
            text += f" There {'is' if more == 1 else 'are'} {more} more in 'problems'."
        super().__init__(text, param=first.path or None, code=first.code)
        self.problems = problems


class Problems:
    """Collects what is wrong with one request."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def add(self, path: str, message: str, code: str = "invalid_value") -> None:
        """Add a problem."""
        if len(self._found) < MOST:
            self._found.append(Problem(path, code, message))

    def take(self, errors: Iterable[RequestError]) -> None:
        """Add what others found."""
        for error in errors:
            if isinstance(error, InvalidRequest):
                self._found += error.problems[: MOST - len(self._found)]
            else:
                self.add(error.param or "", error.message, error.code or "invalid_value")

    def check(self) -> None:
        """Raise what was found, if anything was."""
        if self._found:
            raise InvalidRequest(tuple(self._found))
