"""A queue of new requests, so that a burst does not block everything else.

The first step of a request reads and checks it: one or two milliseconds of work for most, and many
times that for a large one. A few of them, or one that is large, are begun in each turn of the event
loop, in the order of arrival, so streams flow and health probes are answered in between. A rush is
waited out; under a load that lasts, waiting would only make every answer late, so all but the first
few are refused soon, and those get their answers in time.
"""

import asyncio
from collections import deque
from typing import Generic, Protocol, TypeVar

_AT_ONCE = 8
"""Requests begun in one turn of the loop, if they are small."""
_SMALL = 16 * 1024
"""Bytes of a body that counts as one small request; a larger one counts as several."""
_LASTING = 0.1
"""The share of the patience that is left when there has been a line for as long as the patience."""


class Waiting(Protocol):
    """A request in the line. `size`: the bytes of its body."""

    @property
    def size(self) -> int:
        """How much there is to read."""
        ...

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
        self._waiting: deque[tuple[float, int, W]] = deque()
        self._beginning = 0
        self._began = 0.0

    def join(self, request: W) -> None:
        """Begin now if few do, else wait."""
        weight = min(1 + request.size // _SMALL, _AT_ONCE)
        if not self._waiting and self._beginning + weight <= _AT_ONCE:
            self._begin(request, weight)
            return
        now = self._loop.time()
        if not self._waiting:
            self._began = now
        self._waiting.append((now, weight, request))

    def _begin(self, request: W, weight: int) -> None:
        self._beginning += weight
        request.begin()
        # After the first step of the task that was made by now.
        self._loop.call_soon(self._begun, weight)

    def _begun(self, weight: int) -> None:
        self._beginning -= weight
        while self._waiting and self._beginning + self._waiting[0][1] <= _AT_ONCE:
            since, weight, request = self._waiting.popleft()
            now = self._loop.time()
            lasting = now - self._began > self._patience
            if now - since > self._patience * (_LASTING if lasting else 1.0):
                request.give_up()
            else:
                self._begin(request, weight)
