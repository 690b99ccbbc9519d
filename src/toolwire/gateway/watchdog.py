"""One timer for all turns: many times a second, it looks whether any of them is late."""

from collections.abc import Callable
from typing import Protocol

STEP = 0.1
"""Seconds between two looks, and so how late a time limit may be."""


class EventLoop(Protocol):
    """What is needed of an event loop."""

    def time(self) -> float:
        """Its clock, in seconds."""
        ...

    def call_later(self, delay: float, callback: Callable[[], None], /) -> object:
        """Call back after so many seconds."""
        ...


class Watched(Protocol):
    """What is looked at."""

    def check(self, now: float) -> None:
        """It is `now` by the event loop's clock: do what is due."""
        ...


class Watchdog:
    """Looks while there is something to look at. To be used within one event loop."""

    def __init__(self) -> None:
        self._watched: set[Watched] = set()
        self._loop: EventLoop | None = None
        """The loop that will call us back, if there is something to look at."""

    def add(self, watched: Watched, loop: EventLoop) -> None:
        """Look at this from now on."""
        self._watched.add(watched)
        if self._loop is None:
            self._loop = loop
            loop.call_later(STEP, self._look)

    def remove(self, watched: Watched) -> None:
        """Look at it no more."""
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
