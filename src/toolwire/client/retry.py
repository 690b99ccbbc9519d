"""Whether a request is sent again, and after how long. Pure: the waiting is done elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from toolwire.client.errors import APIError, ConnectionFailed, RateLimited, ServerError

LONGEST_WAIT = 60.0
"""A server that wants us to wait longer is believed, but not waited for."""
_FIRST_WAIT = 0.5
_MOST_WAIT = 8.0
_NEVER = frozenset({None, 501, 505})
"""None: an error in a body that is no error by its status. It may have cost tokens."""
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Retries what may succeed: no connection, 429, 5xx. `jitter` gives a number from 0 to 1."""

    max_retries: int
    jitter: Callable[[], float]

    def delay(self, attempt: int, error: ConnectionFailed | APIError) -> float | None:
        """Seconds to wait before attempt `attempt + 1` (from 0); None: give up."""
        if attempt >= self.max_retries or not _may_succeed(error):
            return None
        asked = error.retry_after if isinstance(error, RateLimited | ServerError) else None
        if asked is not None:
            return asked if asked <= LONGEST_WAIT else None
        wait: float = min(_FIRST_WAIT * 2**attempt, _MOST_WAIT)
        return wait * (0.75 + self.jitter() / 4)


def retry_after(
    headers: Mapping[str, str], now: Callable[[], datetime] | None = None
) -> float | None:
    """The wait that a server asks for, in seconds: a number, a date, or OpenAI's milliseconds."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    if text is None or (seconds := _number(text)) is not None:
        return None if text is None else seconds
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    current = now() if now else datetime.now(UTC)
    return max(0.0, (then - current).total_seconds())


def _may_succeed(error: ConnectionFailed | APIError) -> bool:
    if isinstance(error, ConnectionFailed):
        return error.retryable
    said = error.headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    if isinstance(error, RateLimited):
        return error.code not in _SPENT and error.type not in _SPENT
    return isinstance(error, ServerError) and error.status not in _NEVER


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is None or 0 <= value < float("inf") else None
