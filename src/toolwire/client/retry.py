"""Decides whether and when to retry a request. Does not wait itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from toolwire.client.errors import APIError, ConnectionFailed, RateLimited, ServerError

LONGEST_WAIT = 60.0
"""If the server asks for a longer wait, give up instead."""
_FIRST_WAIT = 0.5
_MOST_WAIT = 8.0
_NEVER = frozenset({None, 501, 505})
"""None: an error body with a success status. The request may have cost tokens."""
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Retries connection errors, 429 and 5xx. `jitter` returns a number from 0 to 1."""

    max_retries: int
    jitter: Callable[[], float]

    def delay(self, attempt: int, error: ConnectionFailed | APIError) -> float | None:
        """Return the seconds to wait before attempt `attempt + 1` (from 0), or None to give up."""
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
    """Return the server's requested wait in seconds: a number, a date, or OpenAI's milliseconds."""
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
