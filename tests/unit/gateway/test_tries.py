"""Whether, where and when a request is sent again."""

from typing import Any

import pytest

from toolwire.backends.pool import BackendPool
from toolwire.errors import KeyRefused, UpstreamRefused, UpstreamUnavailable
from toolwire.gateway.retry import Tries, TurnLimits


def pool(count: int) -> BackendPool:
    backends: list[Any] = [object() for _ in range(count)]
    return BackendPool(backends, lambda: 100.0)


def busy(seconds: float) -> UpstreamUnavailable:
    return UpstreamUnavailable("busy", retry_after=seconds, rate_limited=True)


def test_a_client_that_waited_as_long_as_it_was_told_is_not_made_to_wait_again() -> None:
    tries = Tries(pool(1), TurnLimits(max_retry_after=10))
    assert tries.delay(tries.pick(), busy(7)) == 7
    assert tries.delay(tries.pick(), busy(7)) is None


def test_short_waits_add_up_to_the_longest() -> None:
    tries = Tries(pool(1), TurnLimits(attempts=9, max_retry_after=3))
    waits = [tries.delay(tries.pick(), busy(1)) for _ in range(4)]
    assert waits == [1, 1, 1, None]


@pytest.mark.parametrize(("left", "wait"), [(8.0, 7), (7.0, None), (1.0, None)])
def test_nobody_waits_longer_than_the_turn_may_last(left: float, wait: float | None) -> None:
    tries = Tries(pool(1), TurnLimits(max_retry_after=10))
    assert tries.delay(tries.pick(), busy(7), left=left) == wait


def missing() -> UpstreamRefused:
    error = UpstreamRefused("no such model", status=404)
    error.elsewhere = True
    return error


@pytest.mark.parametrize("error", [KeyRefused("no"), missing()])
def test_another_backend_is_asked_if_one_will_not_do_it(error: UpstreamRefused) -> None:
    members = pool(2)
    tries = Tries(members, TurnLimits())
    assert tries.delay(tries.pick(), error) == 0
    assert tries.delay(tries.pick(), error) is None


def test_a_request_that_is_wrong_is_wrong_everywhere() -> None:
    tries = Tries(pool(2), TurnLimits())
    assert tries.delay(tries.pick(), UpstreamRefused("bad value", status=400)) is None
