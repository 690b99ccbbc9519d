"""One timer for all turns: many times a second, it looks whether any of them is late."""

import asyncio
from typing import Protocol

STEP = 0.1
"""Seconds between two looks, and so how late a time limit may be."""


class Watched(Protocol):
    """What is looked at."""

    def check(self, now: float) -> None:
        """It is `now` by the event loop's clock: do what is due."""
        ...


class Watchdog:
    """Looks while there is something to look at. To be used within one event loop."""

    def __init__(self) -> None:
        self._watched: set[Watched] = set()
        self._awake = False

    def add(self, watched: Watched) -> None:
        """Look at this from now on."""
        self._watched.add(watched)
        if not self._awake:
            self._awake = True
            asyncio.get_running_loop().call_later(STEP, self._look)

    def remove(self, watched: Watched) -> None:
        """Look at it no more."""
        self._watched.discard(watched)

    def _look(self) -> None:
        if not self._watched:
            self._awake = False
            return
        loop = asyncio.get_running_loop()
        loop.call_later(STEP, self._look)
        now = loop.time()
        for watched in list(self._watched):
            watched.check(now)
