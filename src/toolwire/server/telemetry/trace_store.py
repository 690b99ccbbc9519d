"""Trace files: one per request, limited in total size."""

import contextlib
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from toolwire.gateway.trace.records import TraceSwitch, TurnTrace
from toolwire.gateway.trace.text import encode_trace

_log = logging.getLogger("toolwire.trace")
_MOST_WAITING = 256
_WAITING_BYTES = 64 << 20
"""Of the bodies of requests whose traces wait for the disk."""
_QUIET = 60.0
"""Seconds between two log lines: a full disk loses the trace of every request."""
_PARTIAL = ".part"
_BLOCK = 4096
"""What a file takes on most disks, however small it is."""


class TraceStore:
    """Writes traces in a thread, and deletes the oldest to make room.

    If a trace cannot be written, as on a full disk, this is logged once in a while. Requests are
    not affected, and no partial file is left.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_bytes: int,
        bodies: bool,
        redact: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tracing = TraceSwitch(on=True)  # every request
        self._folder = folder
        self._max_bytes = max_bytes
        self._bodies = bodies
        self._redact = redact
        self._clock = clock
        self._lost = 0
        self._quiet_until = 0.0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="toolwire-trace")
        self._waiting = self._waiting_bytes = 0
        self._counting = Lock()
        self._files: dict[Path, int] = {}
        self._size = 0
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._find()

    def keep(self, trace: TurnTrace) -> None:
        """Queue a trace for writing. It is dropped if the disk is too slow."""
        full = self._waiting_bytes + len(trace.body) > _WAITING_BYTES
        if self._waiting >= _MOST_WAITING or (self._waiting and full):
            trace.drop_frames()
            return
        self._count(1, len(trace.body))
        self._worker.submit(self._write, trace)

    def watch(self) -> None:
        """See `MemoryTraces.watch`. Every request is traced anyway."""

    def newest(self, count: int) -> list[str]:
        """Return the ids of the latest traced requests, newest first."""
        return [path.stem for path in reversed(list(self._files))][:count]

    def load(self, request_id: str) -> bytes | None:
        """Return the trace of a request, or None."""
        path = self._folder / f"{request_id}.json"
        try:
            return path.read_bytes() if path in self._files else None
        except OSError:
            return None

    def close(self) -> None:
        """Write the queued traces."""
        self._worker.shutdown(wait=True)

    def _find(self) -> None:
        """Find existing traces, oldest first."""
        for path in self._folder.glob(f"req_*.json{_PARTIAL}"):
            path.unlink(missing_ok=True)  # left by a killed process
        found = [(path.stat().st_mtime, path) for path in self._folder.glob("req_*.json")]
        for _, path in sorted(found):
            self._add(path, path.stat().st_size)

    def _write(self, trace: TurnTrace) -> None:
        try:
            text = encode_trace(trace, bodies=self._bodies, redact=self._redact)
            if len(text) > self._max_bytes:
                self._lose(f"that of {trace.request_id} is larger than trace.max_bytes")
                return
            self._make_room(_on_disk(len(text)))
            path = self._folder / f"{trace.request_id}.json"
            _write_whole(path, text)
            self._add(path, len(text))
        except OSError as error:
            self._lose(error.strerror or str(error))
        finally:
            self._count(-1, -len(trace.body))
            trace.drop_frames()

    def _count(self, traces: int, size: int) -> None:
        with self._counting:
            self._waiting += traces
            self._waiting_bytes += size

    def _add(self, path: Path, size: int) -> None:
        self._files[path] = _on_disk(size)
        self._size += self._files[path]

    def _lose(self, why: str) -> None:
        """Log that a trace was lost, but not too often."""
        self._lost += 1
        now = self._clock()
        if now >= self._quiet_until:
            lost, self._lost, self._quiet_until = self._lost, 0, now + _QUIET
            words = "a trace was" if lost == 1 else f"{lost} traces were"
            _log.warning("%s not written: %s", words, why)

    def _make_room(self, size: int) -> None:
        while self._files and self._size + size > self._max_bytes:
            oldest = next(iter(self._files))
            self._size -= self._files.pop(oldest)
            with contextlib.suppress(FileNotFoundError):
                oldest.unlink()


def _on_disk(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _write_whole(path: Path, text: bytes) -> None:
    """Write a file atomically."""
    partial = path.with_name(path.name + _PARTIAL)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(partial, flags, 0o600), "wb") as file:
            file.write(text)
        partial.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
