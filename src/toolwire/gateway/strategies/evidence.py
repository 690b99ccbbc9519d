"""What was observed of backends, by whom and when, and for whom it counts.

Anybody with a key can make a model answer in prose, write a call in some format, or make a server
quote words in an error. So an observation counts at once for the key that made it, and for the
others only with more of the same: from another key, or several times from one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

REMEMBERED = 600.0
"""Seconds after which an observation counts no more: somebody may have changed the server."""
COUNTED = 3600.0
"""Seconds after the last one, after which earlier observations are not counted with a new one."""
OBSERVERS = 2
"""So many keys that observe the same make it count for everybody."""
OBSERVATIONS = 3
"""So many observations do, whoever made them."""

_MOST_PLACES = 1024
_MOST_OBSERVERS = 64

Place = tuple[str, str]
"""A backend, and a model on it."""
V = TypeVar("V")


@dataclass(slots=True)
class _Observed:
    """How often each key has observed one thing, and when it was observed last."""

    at: float
    by: dict[str, int] = field(default_factory=dict)

    def add(self, observer: str, now: float) -> None:
        if now - self.at > COUNTED:
            self.by.clear()
        self.at = now
        if observer in self.by or len(self.by) < _MOST_OBSERVERS:
            self.by[observer] = self.by.get(observer, 0) + 1

    def counts_for(self, observer: str) -> bool:
        by = self.by
        return observer in by or len(by) >= OBSERVERS or sum(by.values()) >= OBSERVATIONS


@dataclass(slots=True)
class Evidence(Generic[V]):
    """What was observed at each place. Bounded: the place that was added first is forgotten."""

    clock: Callable[[], float]
    places: dict[Place, dict[V, _Observed]] = field(default_factory=dict)
    """Where anything was observed."""

    def observe(self, place: Place, what: V, observer: str) -> None:
        """`observer` has seen this."""
        if place not in self.places and len(self.places) >= _MOST_PLACES:
            del self.places[next(iter(self.places))]
        now = self.clock()
        self.places.setdefault(place, {}).setdefault(what, _Observed(now)).add(observer, now)

    def counting(self, place: Place, observer: str) -> list[V]:
        """What counts for `observer` now, the latest last."""
        seen = self.places.get(place)
        if not seen:
            return []
        since = self.clock() - REMEMBERED
        counting = [
            (one.at, what)
            for what, one in seen.items()
            if one.at > since and one.counts_for(observer)
        ]
        return [what for _, what in sorted(counting, key=lambda pair: pair[0])]
