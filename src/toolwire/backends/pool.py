"""Selects among several backends of one model: the least busy first, failed ones last."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from toolwire.backends.base import Backend
from toolwire.errors import UpstreamError

COOL_DOWN = 5.0


@dataclass(slots=True, eq=False)
class PoolMember:
    """One backend of a pool, and its state."""

    backend: Backend
    in_flight: int = 0
    failed_at: float = field(default=float("-inf"))


class BackendPool:
    """Selects backends. `clock` is the event loop's."""

    def __init__(self, backends: Sequence[Backend], clock: Callable[[], float]) -> None:
        self._members = [PoolMember(backend) for backend in backends]
        self._clock = clock

    def pick(self, tried: Sequence[PoolMember] = ()) -> PoolMember:
        """Return the best backend for the next attempt, preferably one that was not tried."""
        if len(self._members) == 1:
            return self._members[0]
        now = self._clock()
        return min(
            self._members,
            key=lambda m: (m in tried, now - m.failed_at < COOL_DOWN, m.in_flight),
        )

    @contextmanager
    def using(self, member: PoolMember) -> Iterator[None]:
        """Count one request on a backend. After a failure that other backends may not share, prefer
        those for a while."""
        member.in_flight += 1
        try:
            yield
        except UpstreamError as error:
            if error.retryable or error.elsewhere:
                member.failed_at = self._clock()
            raise
        finally:
            member.in_flight -= 1

    @property
    def backends(self) -> list[Backend]:
        """All backends of the pool."""
        return [member.backend for member in self._members]
