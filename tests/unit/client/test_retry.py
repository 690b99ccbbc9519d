"""Whether a request is sent again, and when."""

from datetime import UTC, datetime

import pytest

from toolwire.client.errors import (
    APIError,
    BadRequest,
    ConnectionFailed,
    RateLimited,
    RequestTimeout,
    ServerError,
)
from toolwire.client.retry import RetryPolicy, retry_after

POLICY = RetryPolicy(2, jitter=lambda: 1.0)


def limited(seconds: float | None, code: str | None = None) -> RateLimited:
    error = RateLimited("slow down", status=429, code=code)
    error.retry_after = seconds
    return error


def test_a_refused_connection_is_tried_again_later_and_later() -> None:
    error = ConnectionFailed("refused")
    assert [POLICY.delay(n, error) for n in range(3)] == [0.5, 1.0, None]


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529])
def test_a_failing_server_is_tried_again(status: int) -> None:
    assert POLICY.delay(0, ServerError("x", status=status)) == 0.5


@pytest.mark.parametrize(
    "error",
    [
        BadRequest("x", status=400),
        APIError("x", status=409),
        ServerError("x", status=501),
        ServerError("an error in the middle of a stream"),
        RequestTimeout("it had the request", retryable=False),
        limited(None, "insufficient_quota"),
        limited(61.0),
        ServerError("x", status=500, headers={"x-should-retry": "false"}),
    ],
)
def test_what_cannot_succeed_is_not_tried_again(error: APIError) -> None:
    assert POLICY.delay(0, error) is None


def test_the_wait_that_a_server_asks_for_is_kept() -> None:
    assert POLICY.delay(0, limited(7.0)) == 7.0


def test_retry_after_is_a_number_a_date_or_milliseconds() -> None:
    now = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
    date = {"retry-after": "Mon, 16 Nov 2026 12:00:09 GMT"}
    assert retry_after({"retry-after": "1.5"}) == 1.5
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert retry_after(date, now=lambda: now) == 9.0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({"retry-after": "-1"}) is None
    assert retry_after({}) is None
