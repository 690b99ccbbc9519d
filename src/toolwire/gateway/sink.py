"""The interface between the pump and a surface's encoder."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import msgspec

from toolwire.protocol.events import Event

Flow: TypeAlias = Callable[[Callable[[], None], Callable[[], None]], None]
"""Registers two callbacks: the client is too slow, and the client has caught up."""


class Begun(msgspec.Struct, frozen=True):
    """The start of an answer: its backend, its tool mode, and the client's parameters that were not
    sent."""

    backend: str
    mode: str
    ignored: Sequence[str] = ()
    adjusted: Sequence[str] = ()
    """The client's parameters that were sent with the nearest value that the backend knows."""
    own: bool = False
    """Whether the backend speaks the client's API."""


class Sink(Protocol):
    """Receives the events of a turn. Each surface's encoder is one."""

    @property
    def committed(self) -> bool:
        """Whether the client has seen any of this turn, so that it cannot be restarted."""
        ...

    def begin(self, begun: Begun) -> None:
        """Start an answer, and discard what an earlier attempt sent."""
        ...

    def send(self, choice: int, events: list[Event]) -> None:
        """Take the next events of one choice."""
        ...

    def flush(self) -> None:
        """Write everything that was sent since the last flush, in one write."""
        ...

    def keepalive(self) -> None:
        """Tell a client that the turn is still running although the model is silent."""
        ...
