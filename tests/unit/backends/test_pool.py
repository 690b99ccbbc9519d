"""Which of several backends a request goes to."""

from contextlib import ExitStack
from typing import Any

import pytest

from toolwire.backends.pool import SLACK, BackendPool, PoolMember
from toolwire.errors import UpstreamError

KEYS = [f"session {number}" for number in range(200)]


def pool(count: int) -> BackendPool:
    backends: list[Any] = [object() for _ in range(count)]
    return BackendPool(backends, lambda: 100.0)


def fail(backends: BackendPool, member: PoolMember) -> None:
    with pytest.raises(UpstreamError), backends.using(member):
        raise UpstreamError("It is gone.")


def test_requests_of_one_session_go_to_one_backend_and_sessions_to_all() -> None:
    backends = pool(4)
    chosen = {key: backends.pick((), key) for key in KEYS}
    assert all(backends.pick((), key) is member for key, member in chosen.items())
    shares = [sum(m.position == at for m in chosen.values()) for at in range(4)]
    assert min(shares) > 25


def test_another_process_chooses_the_same() -> None:
    assert [pool(3).pick((), key).position for key in ("a", "b", "c")] == [1, 2, 0]


def test_without_a_session_the_least_busy_one_is_chosen() -> None:
    backends = pool(2)
    first = backends.pick()
    with backends.using(first):
        assert backends.pick() is not first


def test_if_a_backend_fails_only_its_own_sessions_move() -> None:
    backends = pool(3)
    before = {key: backends.pick((), key) for key in KEYS}
    gone = before[KEYS[0]]
    fail(backends, gone)
    after = {key: backends.pick((), key) for key in KEYS}
    assert gone not in after.values()
    assert all(after[key] is member for key, member in before.items() if member is not gone)


def test_a_backend_that_was_tried_is_not_preferred() -> None:
    backends = pool(2)
    first = backends.pick((), "a")
    assert backends.pick([first], "a") is not first


def test_a_session_that_everybody_shares_does_not_leave_the_others_idle() -> None:
    backends = pool(2)
    first = backends.pick((), "a")
    with ExitStack() as stack:
        for _ in range(SLACK + 1):
            assert backends.pick((), "a") is first
            stack.enter_context(backends.using(first))
        assert backends.pick((), "a") is not first
    assert backends.pick((), "a") is first
