"""Where the events of a turn go: what the pump knows of a surface's encoder."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from toolwire.protocol.events import Event

Flow: TypeAlias = Callable[[Callable[[], None], Callable[[], None]], None]
"""Takes what to do when the client does not keep up, and what to do when it has caught up."""


@dataclass(frozen=True, slots=True)
class Begun:
    """An answer that has begun: who gives it, how the model was given its tools, and which of the
    client's parameters it was not sent."""

    backend: str
    mode: str
    ignored: Sequence[str] = ()


class Sink(Protocol):
    """Where a turn's events go: a surface's encoder."""

    @property
    def committed(self) -> bool:
        """Whether the client has seen any of this turn, so that it cannot be started over."""
        ...

    def begin(self, begun: Begun) -> None:
        """An answer has begun; forget what an earlier attempt may have sent."""
        ...

    def send(self, choice: int, events: list[Event]) -> None:
        """The next events of one choice."""
        ...

    def flush(self) -> None:
        """All that one read of the backend gave has been sent: pass it on, in one write."""
        ...

    def keepalive(self) -> None:
        """The model has been silent for a while; tell the client that we are still here."""
        ...
