"""One timer that checks the deadlines of all turns, several times a second."""

from collections.abc import Callable
from typing import Protocol

STEP = 0.1
"""Seconds between two checks, which is also how late a timeout may fire."""


class EventLoop(Protocol):
    """The part of an event loop that the watchdog uses."""

    def time(self) -> float:
        """Return the time of the loop's clock, in seconds."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None], /) -> object:
        """Call `callback` after `delay` seconds."""
        ...


class Watched(Protocol):
    """Something with deadlines."""

    def check(self, now: float) -> None:
        """Do what is due at `now`, a time of the event loop's clock."""
        ...


class Watchdog:
    """Runs while it has something to check. Use it within one event loop."""

    def __init__(self) -> None:
        self._watched: set[Watched] = set()
        self._loop: EventLoop | None = None
        """The loop with our pending callback; None if there is nothing to check."""

    def add(self, watched: Watched, loop: EventLoop) -> None:
        """Start checking this."""
        self._watched.add(watched)
        if self._loop is None:
            self._loop = loop
            loop.call_later(STEP, self._look)

    def remove(self, watched: Watched) -> None:
        """Stop checking it."""
        self._watched.discard(watched)

    def _look(self) -> None:
        loop = self._loop
        if loop is None or not self._watched:
            self._loop = None
            return
        loop.call_later(STEP, self._look)
        now = loop.time()
        for watched in list(self._watched):
            watched.check(now)
