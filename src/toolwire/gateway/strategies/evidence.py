"""Records what was observed about backends, by which key and when, and for which keys it counts.

Anyone with a key can make a model answer in prose, write a call in some format, or make a server
quote text in an error. So an observation counts immediately only for the key that made it. It
counts for other keys once another key has confirmed it, or once it was repeated several times.
Requests without a key may come from anybody, so weak evidence counts for them only once it was
repeated.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

REMEMBERED = 600.0
"""Seconds until an observation expires: the server may have changed."""
COUNTED = 3600.0
"""Seconds without an observation after which counting starts over."""
OBSERVERS = 2
"""Number of keys whose observation makes it count for all."""
OBSERVATIONS = 3
"""Number of observations, by any keys, that makes it count for all."""

_MOST_PLACES = 1024
_MOST_OBSERVERS = 64

BackendModel = tuple[str, str]
"""A backend, and a model on it."""
V = TypeVar("V")


class _Observed(msgspec.Struct):
    """How often each key has made one observation, and when it was last made."""

    at: float
    by: dict[str, int] = msgspec.field(default_factory=dict)

    def add(self, observer: str, now: float) -> None:
        if now - self.at > COUNTED:
            self.by.clear()
        self.at = now
        if observer in self.by or len(self.by) < _MOST_OBSERVERS:
            self.by[observer] = self.by.get(observer, 0) + 1

    def counts_for(self, observer: str, keyless: int) -> bool:
        by = self.by
        own = by.get(observer, 0) >= (1 if observer else keyless)
        return own or len(by) >= OBSERVERS or sum(by.values()) >= OBSERVATIONS


@dataclass(slots=True)
class Evidence(Generic[V]):
    """Observations by place. Bounded: the place that was added first is evicted."""

    clock: Callable[[], float]
    keyless: int = 1
    """Number of observations without a key that makes one count for requests without a key."""
    places: dict[BackendModel, dict[V, _Observed]] = field(default_factory=dict)
    """The places with observations."""

    def observe(self, place: BackendModel, what: V, observer: str) -> None:
        """Record an observation of `observer`."""
        if place not in self.places and len(self.places) >= _MOST_PLACES:
            del self.places[next(iter(self.places))]
        now = self.clock()
        self.places.setdefault(place, {}).setdefault(what, _Observed(now)).add(observer, now)

    def counting(self, place: BackendModel, observer: str) -> list[V]:
        """Return the observations that count for `observer` now, the latest last."""
        seen = self.places.get(place)
        if not seen:
            return []
        since = self.clock() - REMEMBERED
        counting = [
            (one.at, what)
            for what, one in seen.items()
            if one.at > since and one.counts_for(observer, self.keyless)
        ]
        return [what for _, what in sorted(counting, key=lambda pair: pair[0])]

    def forget(self, place: BackendModel, what: V) -> None:
        """Forget who has made this observation."""
        if seen := self.places.get(place):
            seen.pop(what, None)
