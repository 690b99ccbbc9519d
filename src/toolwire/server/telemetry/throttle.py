"""Keeps repeated messages from flooding the log."""

from collections.abc import Callable, Hashable

PERIOD = 60.0
_MOST_KEYS = 256


class Throttle:
    """Admits one message per key and period, and counts the suppressed ones."""

    def __init__(self, clock: Callable[[], float], period: float = PERIOD) -> None:
        self._clock = clock
        self._period = period
        self._seen: dict[Hashable, tuple[float, int]] = {}

    def admit(self, key: Hashable) -> int | None:
        """Return how many were suppressed since the last one; None if this one is suppressed."""
        now = self._clock()
        since, held = self._seen.pop(key, (float("-inf"), 0))
        if now - since < self._period:
            self._seen[key] = since, held + 1
            return None
        if len(self._seen) >= _MOST_KEYS:
            del self._seen[next(iter(self._seen))]
        self._seen[key] = now, 0
        return held
