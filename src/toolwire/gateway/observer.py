"""Who is told about each attempt at a backend while it happens: for logs and metrics."""

from typing import Literal, Protocol, TypeAlias

from toolwire.errors import UpstreamError

Lesson: TypeAlias = Literal["tools", "constraint", "union", "system", "format"]
"""What was learned about a backend: something it lacks, or the format of its model."""


class TurnObserver(Protocol):
    """Must be quick: it is told in the middle of a turn."""

    def attempted(self, backend: str) -> None:
        """A request goes to this backend."""
        ...

    def answered(self, backend: str) -> None:
        """The backend's answer was read to its end."""
        ...

    def failed(self, backend: str, error: UpstreamError) -> None:
        """The attempt came to nothing."""
        ...

    def retried(self, backend: str, reason: str) -> None:
        """Another attempt follows one that failed at this backend."""
        ...

    def learned(self, backend: str, model: str, lesson: Lesson, found: str = "") -> None:
        """From now on, requests for this model are made or read differently."""
        ...


class Unobserved:
    """Nobody."""

    def attempted(self, backend: str) -> None: ...
    def answered(self, backend: str) -> None: ...
    def failed(self, backend: str, error: UpstreamError) -> None: ...
    def retried(self, backend: str, reason: str) -> None: ...
    def learned(self, backend: str, model: str, lesson: Lesson, found: str = "") -> None: ...


UNOBSERVED = Unobserved()
