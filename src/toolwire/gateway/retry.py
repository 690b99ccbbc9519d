"""Whether, where and when a request is sent again. Pure: whoever asks does the waiting."""

from dataclasses import dataclass

from toolwire.backends.pool import BackendPool, Member
from toolwire.errors import UpstreamError


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """How long a turn may take, in seconds, and how often it is tried."""

    total: float = 3600.0
    keepalive: float = 15.0
    attempts: int = 3
    backoff: float = 0.25
    max_retry_after: float = 10.0
    asks: int = 1
    """How often the model is asked again after an answer that may not be delivered."""


class Tries:
    """The attempts that one request has had, over the backends of its pool."""

    __slots__ = ("_pace", "_pool", "_tried")

    def __init__(self, pool: BackendPool, pace: TurnLimits) -> None:
        self._pool = pool
        self._pace = pace
        self._tried: list[Member] = []

    def pick(self) -> Member:
        """The backend for the next attempt."""
        return self._pool.pick(self._tried)

    def delay(self, failed: Member, error: UpstreamError) -> float | None:
        """Seconds until the attempt after a failed one; None if there must not be one."""
        self._tried.append(failed)
        pace, tries = self._pace, len(self._tried)
        if not error.retryable or tries >= pace.attempts:
            return None
        if self.pick() not in self._tried:
            return 0.0
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= pace.max_retry_after else None
        return pace.backoff * float(2 ** (tries - 1))
