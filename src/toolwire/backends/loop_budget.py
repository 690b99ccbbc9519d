"""Keeps an iteration of the event loop short, with any number of busy streams.

In one iteration the loop reads from every socket that has data. With a thousand streams this takes
a tenth of a second, or seconds if each has a full buffer; meanwhile no connection is accepted and
no health probe is answered. So data that is read late in an iteration is queued, and a little of
the queue is processed in each of the next iterations.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter

_FEW = 16
"""With this many connections or fewer, iterations are short and not timed."""
_LONG = 0.01
"""Seconds of reading after which an iteration is long."""
_PAUSE = 0.005
"""Seconds after an iteration was timed in which none is: to notice its end takes a callback."""
_QUEUE_BUDGET = 0.02
"""Seconds per iteration for queued work."""


class LoopBudget:
    """Tracks loop iterations. One per event loop, shared by connections that read much."""

    __slots__ = ("_began", "_late", "_loop", "_timed", "connections")

    def __init__(self) -> None:
        self.connections = 0
        """The number of connections, which they maintain themselves."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._began = 0.0
        self._timed = False
        """Whether this iteration is timed. It may have begun up to `_PAUSE` before."""
        self._late: deque[Callable[[], None]] = deque()

    @property
    def spent(self) -> bool:
        """Whether this iteration has been reading for so long that work should be queued."""
        if self.connections <= _FEW:
            return False
        if self._late:
            return True  # keep the order, or the same sockets would always come first
        now = perf_counter()
        if self._timed:
            return now - self._began > _LONG
        if now - self._began > _PAUSE:
            self._began, self._timed = now, True
            self._soon(self._over)
        return False

    def defer(self, work: Callable[[], None]) -> None:
        """Queue `work` for one of the next iterations."""
        if not self._late:
            self._soon(self._run_queue)
        self._late.append(work)

    def _over(self) -> None:
        self._timed = False

    def _run_queue(self) -> None:
        until = perf_counter() + _QUEUE_BUDGET
        while self._late and perf_counter() < until:
            self._late.popleft()()
        if self._late:
            self._soon(self._run_queue)

    def _soon(self, call: Callable[[], None]) -> None:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        self._loop.call_soon(call)
