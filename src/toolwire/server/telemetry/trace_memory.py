"""Traces of the latest requests in memory, for the inspector, while it is in use."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from toolwire.gateway.trace.records import TraceSwitch, TurnTrace
from toolwire.gateway.trace.text import encode_trace

MOST_TRACES = 200
MOST_BYTES = 32 << 20
_MOST_WAITING = 64
WATCHED = 60.0
"""Seconds for which requests are traced after the inspector was last used."""


class MemoryTraces:
    """Keeps the latest traces. Tracing costs time with every chunk of an answer, so requests are
    traced only while the inspector is in use."""

    def __init__(
        self,
        *,
        bodies: bool,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tracing = TraceSwitch(on=False)
        self._bodies = bodies
        self._redact = redact
        self._clock = clock
        self._until = float("-inf")
        self._kept: dict[str, bytes] = {}
        self._size = 0
        self._waiting = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="toolwire-trace")

    def watch(self) -> None:
        """Trace requests for a while: the inspector is in use."""
        self._until = self._clock() + WATCHED
        self.tracing.on = True

    def keep(self, trace: TurnTrace) -> None:
        """Queue a trace for encoding. It is dropped if too many are waiting.

        Tracing is switched off if the inspector has not been used for a while.
        """
        self.tracing.on = self._clock() < self._until
        if self._waiting >= _MOST_WAITING:
            trace.drop_frames()
            return
        self._waiting += 1
        self._worker.submit(self._write, trace)

    def newest(self, count: int) -> list[str]:
        """Return the ids of the latest traced requests, newest first."""
        return list(self._kept)[: -count - 1 : -1]

    def load(self, request_id: str) -> bytes | None:
        """Return the trace of a request, or None."""
        return self._kept.get(request_id)

    def close(self) -> None:
        """Stop."""
        self._worker.shutdown(wait=True)

    def _write(self, trace: TurnTrace) -> None:
        try:
            text = encode_trace(trace, bodies=self._bodies, redact=self._redact)
            if len(text) <= MOST_BYTES:
                self._kept[trace.request_id] = text
                self._size += len(text)
                self._make_room()
        finally:
            self._waiting -= 1
            trace.drop_frames()

    def _make_room(self) -> None:
        while len(self._kept) > MOST_TRACES or self._size > MOST_BYTES:
            self._size -= len(self._kept.pop(next(iter(self._kept))))
