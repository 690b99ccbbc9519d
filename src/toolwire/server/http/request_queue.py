"""A queue of new requests, so that a burst does not block everything else.

The first step of a request reads and checks it, which takes one or two milliseconds for most and
much longer for a large one. Each iteration of the event loop starts a few requests, or one large
one, in the order of arrival, so that streams and health probes continue in between. A short burst
is queued. Under sustained load, queueing would delay every answer, so all but the first few
requests are refused early, and those few are answered in time.
"""

import asyncio
from collections import deque
from typing import Generic, Protocol, TypeVar

_AT_ONCE = 8
"""Small requests started per iteration of the event loop."""
_SMALL = 32 * 1024
"""Bytes of a body that count as one small request; a larger body counts as several."""
_LASTING = 0.1
"""The fraction of `max_wait` that applies once the queue has existed for that long."""


class QueuedRequest(Protocol):
    """A queued request."""

    def begin(self, weight: int) -> None:
        """Start the request, and call `RequestQueue.begun` with this weight once it runs."""
        ...

    def give_up(self) -> None:
        """Refuse the request, because it waited too long."""
        ...


Q = TypeVar("Q", bound=QueuedRequest)


class RequestQueue(Generic[Q]):
    """A first-in, first-out queue. `max_wait` is the longest wait, in seconds."""

    __slots__ = ("_began", "_beginning", "_loop", "_max_wait", "_waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, max_wait: float) -> None:
        self._loop = loop
        self._max_wait = max_wait
        self._waiting: deque[tuple[float, int, Q]] = deque()
        self._beginning = 0
        self._began = 0.0

    def put(self, request: Q, size: int) -> None:
        """Start a request now, or queue it. `size`: the bytes of its body."""
        weight = 1 if size < _SMALL else min(1 + size // _SMALL, _AT_ONCE)
        if not self._waiting and self._beginning + weight <= _AT_ONCE:
            self._begin(request, weight)
            return
        now = self._loop.time()
        if not self._waiting:
            self._began = now
        self._waiting.append((now, weight, request))

    def _begin(self, request: Q, weight: int) -> None:
        self._beginning += weight
        request.begin(weight)

    def begun(self, weight: int) -> None:
        """Start those that wait, for a later iteration: one that was started runs in this one."""
        self._beginning -= weight
        while self._waiting and self._beginning + self._waiting[0][1] <= _AT_ONCE:
            since, weight, request = self._waiting.popleft()
            now = self._loop.time()
            lasting = now - self._began > self._max_wait
            if now - since > self._max_wait * (_LASTING if lasting else 1.0):
                request.give_up()
            else:
                self._begin(request, weight)
