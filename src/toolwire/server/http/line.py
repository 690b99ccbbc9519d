"""The line in which requests wait for their turn, so that a rush of them stops nothing else.

The first step of a request reads and checks it: one or two milliseconds of work. A few of them are
begun in each turn of the event loop, in the order of arrival, so streams flow and health probes are
answered in between. A rush is waited out; under a load that lasts, waiting would only make every
answer late, so all but the first few are refused soon, and those get their answers in time.
"""

import asyncio
from collections import deque
from typing import Generic, Protocol, TypeVar

_AT_ONCE = 8
"""Requests begun in one turn of the loop."""
_LASTING = 0.1
"""The share of the patience that is left when there has been a line for as long as the patience."""


class Waiting(Protocol):
    """A request in the line."""

    def begin(self) -> None:
        """Its turn has come."""
        ...

    def give_up(self) -> None:
        """Its turn does not come in time."""
        ...


W = TypeVar("W", bound=Waiting)


class Line(Generic[W]):
    """First come, first served."""

    __slots__ = ("_began", "_beginning", "_loop", "_patience", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, patience: float) -> None:
        self._loop = loop
        self._patience = patience
        self._waiting: deque[tuple[float, W]] = deque()
        self._beginning = 0
        self._began = 0.0

    def join(self, request: W) -> None:
        """Begin now if few do, else wait."""
        if self._beginning < _AT_ONCE:
            self._begin(request)
            return
        now = self._loop.time()
        if not self._waiting:
            self._began = now
        self._waiting.append((now, request))

    def _begin(self, request: W) -> None:
        self._beginning += 1
        request.begin()
        # After the first step of the task that was made by now.
        self._loop.call_soon(self._begun)

    def _begun(self) -> None:
        self._beginning -= 1
        while self._waiting and self._beginning < _AT_ONCE:
            since, request = self._waiting.popleft()
            now = self._loop.time()
            lasting = now - self._began > self._patience
            if now - since > self._patience * (_LASTING if lasting else 1.0):
                request.give_up()
            else:
                self._begin(request)
