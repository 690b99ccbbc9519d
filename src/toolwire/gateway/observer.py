"""Observes each attempt at a backend as it happens, for logs and metrics."""

from typing import Literal, Protocol, TypeAlias

from toolwire.errors import UpstreamError

Lack: TypeAlias = Literal["tools", "constraint", "union", "system"]
"""A feature that a backend may lack."""
Lesson: TypeAlias = Lack | Literal["format"]
"""What was learned about a backend: a missing feature, or its model's format."""


class TurnObserver(Protocol):
    """Receives notifications. Must be fast, because they arrive during a turn."""

    def attempted(self, backend: str) -> None:
        """A request is about to be sent to this backend."""
        ...

    def answered(self, backend: str) -> None:
        """The backend's answer was read completely."""
        ...

    def failed(self, backend: str, error: UpstreamError) -> None:
        """The attempt failed."""
        ...

    def retried(self, backend: str, reason: str) -> None:
        """Another attempt follows one that failed at this backend."""
        ...

    def learned(self, backend: str, model: str, lesson: Lesson, found: str = "") -> None:
        """Requests for this model are encoded or read differently from now on."""
        ...


class Unobserved:
    """An observer that ignores everything."""

    def attempted(self, backend: str) -> None: ...
    def answered(self, backend: str) -> None: ...
    def failed(self, backend: str, error: UpstreamError) -> None: ...
    def retried(self, backend: str, reason: str) -> None: ...
    def learned(self, backend: str, model: str, lesson: Lesson, found: str = "") -> None: ...


UNOBSERVED = Unobserved()
