"""Whether, where and when a request is sent again. Pure: whoever asks does the waiting."""

import math
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

    __slots__ = ("_pace", "_pool", "_tried", "_waited")

    def __init__(self, pool: BackendPool, pace: TurnLimits) -> None:
        self._pool = pool
        self._pace = pace
        self._tried: list[Member] = []
        self._waited = 0.0

    def pick(self) -> Member:
        """The backend for the next attempt."""
        return self._pool.pick(self._tried)

    def delay(
        self, failed: Member, error: UpstreamError, *, left: float = math.inf
    ) -> float | None:
        """Seconds until the attempt after a failed one; None if there must not be one.

        `left`: seconds until the turn must be over.
        """
        self._tried.append(failed)
        if len(self._tried) >= self._pace.attempts:
            return None
        if (error.retryable or error.elsewhere) and self.pick() not in self._tried:
            return 0.0
        if not error.retryable:
            return None
        if error.retry_after is None:
            return self._pace.backoff * float(2 ** (len(self._tried) - 1))
        # No client should wait here, and then be told to wait again as long.
        self._waited += error.retry_after
        patient = self._waited <= self._pace.max_retry_after and error.retry_after < left
        return error.retry_after if patient else None
