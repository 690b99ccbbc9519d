"""A queue of new requests, so that a burst does not block everything else.

The first step of a request reads and checks it, which takes one or two milliseconds. A few requests
are started in each iteration of the event loop, in the order of arrival, so that streams continue
and health probes are answered in between. A short burst is queued. Under lasting overload, waiting
would only delay every answer, so most requests are refused soon, and the others are answered in
time.
"""

import asyncio
from collections import deque
from typing import Generic, Protocol, TypeVar

_AT_ONCE = 8
"""Requests started in one iteration of the loop."""
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
