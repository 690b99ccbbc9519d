"""Selects among several backends of one model: the least busy first, failed ones last.

Requests with the same affinity prefer the same backend, whose prompt cache has what they share.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from toolwire.backends.base import Backend
from toolwire.errors import UpstreamError

COOL_DOWN = 5.0
SLACK = 4
"""How many more requests than the least busy backend the preferred one may have. A key that
everybody uses must not keep all other backends idle."""


@dataclass(slots=True, eq=False)
class PoolMember:
    """One backend of a pool, and its state."""

    backend: Backend
    position: int = 0
    in_flight: int = 0
    failed_at: float = field(default=float("-inf"))


class BackendPool:
    """Selects backends. `clock` is the event loop's."""

    def __init__(self, backends: Sequence[Backend], clock: Callable[[], float]) -> None:
        self._members = [PoolMember(backend, position) for position, backend in enumerate(backends)]
        self._clock = clock
        self.shared = len(self._members) > 1
        """Whether there is a choice."""

    def pick(self, tried: Sequence[PoolMember] = (), affinity: str = "") -> PoolMember:
        """Return the best backend for the next attempt, preferably one that was not tried. Of those
        that are as good, the same one for the same `affinity`, unless it is too busy."""
        if not self.shared:
            return self._members[0]
        now = self._clock()
        states = [(m in tried, now - m.failed_at < COOL_DOWN) for m in self._members]
        best = min(states)
        members = [m for m, state in zip(self._members, states, strict=True) if state == best]
        least = min(members, key=lambda m: m.in_flight)
        if not affinity:
            return least
        preferred = max(members, key=lambda m: _weight(affinity, m.position))
        return preferred if preferred.in_flight <= least.in_flight + SLACK else least

    @contextmanager
    def using(self, member: PoolMember) -> Iterator[None]:
        """Count one request on a backend, and note its failure."""
        member.in_flight += 1
        try:
            yield
        except UpstreamError as error:
            self.note(member, error)
            raise
        finally:
            member.in_flight -= 1

    def note(self, member: PoolMember, error: UpstreamError) -> None:
        """Prefer other backends for a while, after a failure that they may not share."""
        if error.retryable or error.elsewhere:
            member.failed_at = self._clock()

    @property
    def backends(self) -> list[Backend]:
        """All backends of the pool."""
        return [member.backend for member in self._members]


def _weight(affinity: str, position: int) -> bytes:
    """Return a number that is the same in every process. If a backend fails, only its own share
    moves to the others."""
    return hashlib.blake2b(f"{position}:{affinity}".encode("utf-8", "replace")).digest()
