"""What `/readyz` says of the session store."""

import asyncio

import pytest

from toolwire.errors import StoreUnavailable
from toolwire.server.health.readiness import Readiness
from toolwire.server.telemetry.metrics import Metrics
from toolwire.sessions.base import Key
from toolwire.sessions.guard import GuardedStore
from toolwire.sessions.memory import MemoryStore

KEY = Key("conversation", "", "conv_1")


class Down(MemoryStore):
    """A store that does not answer."""

    async def ping(self) -> None:
        raise StoreUnavailable("down")

    async def get(self, key: Key) -> bytes | None:
        raise StoreUnavailable("down")


async def fail(store: GuardedStore) -> None:
    with pytest.raises(StoreUnavailable):
        await store.get(KEY)


def test_a_store_that_was_never_used_is_not_mentioned() -> None:
    store = GuardedStore(MemoryStore())
    assert Readiness(store, store_required=False).status(draining=False) == (
        200,
        {"status": "ready"},
    )
    assert Readiness(None, store_required=True).status(draining=False) == (200, {"status": "ready"})


def test_a_store_that_is_down_is_reported_and_no_reason_to_be_unready() -> None:
    async def run() -> None:
        store = GuardedStore(Down())
        await fail(store)
        said = Readiness(store, store_required=False).status(draining=False)
        assert said == (200, {"status": "ready", "sessions": "unavailable"})
        await store.aclose()

    asyncio.run(run())


def test_a_store_that_is_required_makes_the_process_unready() -> None:
    async def run() -> None:
        store = GuardedStore(Down())
        await fail(store)
        status, body = Readiness(store, store_required=True).status(draining=False)
        assert (status, body["sessions"]) == (503, "unavailable")
        await store.aclose()

    asyncio.run(run())


def test_a_required_store_is_tried_before_anybody_uses_it() -> None:
    async def run() -> None:
        store = GuardedStore(MemoryStore())
        ready = Readiness(store, store_required=True)
        assert ready.status(draining=False)[0] == 503
        await asyncio.sleep(0.05)
        said = ready.status(draining=False)
        assert said == (200, {"status": "ready", "sessions": "available"})
        await store.aclose()

    asyncio.run(run())


def test_a_process_that_ends_is_not_ready() -> None:
    store = GuardedStore(MemoryStore())
    said = Readiness(store, store_required=False).status(draining=True)
    assert said == (503, {"status": "draining"})


def test_metrics_say_whether_the_store_answers_once_it_was_used() -> None:
    async def run() -> None:
        metrics = Metrics()
        metrics.sessions = store = GuardedStore(Down())
        assert b"\ntoolwire_session_store_up " not in metrics.render()
        await fail(store)
        assert b"\ntoolwire_session_store_up 0.0" in metrics.render()
        assert b"\ntoolwire_session_store_failures_total 1.0" in metrics.render()
        await store.aclose()

    asyncio.run(run())
