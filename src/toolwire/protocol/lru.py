"""A least-recently-used cache, limited in bytes.

Changes take a lock, because large requests are read in threads.
"""

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class ByteLru(Generic[K, V]):
    """Holds values until the sum of their stated sizes passes `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._used = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        """Return the value and mark it as the most recently used; None if it is not cached."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        try:  # noqa: SIM105 - faster than contextlib.suppress
            self._entries.move_to_end(key)
        except KeyError:
            pass  # another thread has just removed it
        return entry[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Store a value of `size` bytes, unless it is larger than the whole cache."""
        if size > self._max:
            return
        with self._lock:
            if (old := self._entries.pop(key, None)) is not None:
                self._used -= old[1]
            self._entries[key] = (value, size)
            self._used += size
            while self._used > self._max:
                _, (_, freed) = self._entries.popitem(last=False)
                self._used -= freed

    def __len__(self) -> int:
        return len(self._entries)
