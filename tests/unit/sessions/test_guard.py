"""A store that does not answer: who is told what, when, and what happens afterwards."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from toolwire.errors import ConversationBusy, StoreUnavailable
from toolwire.sessions.base import Claim, Key
from toolwire.sessions.guard import GuardedStore
from toolwire.sessions.memory import MemoryStore

KEY = Key("conversation", "alice", "conv_1")


class Troubled(MemoryStore):
    """A store in memory that can be made to fail, or to do as it is told and not to answer."""

    def __init__(self) -> None:
        super().__init__()
        self.mode = "well"
        self.asked = 0

    async def _trouble(self) -> None:
        self.asked += 1
        if self.mode == "slow refusal":
            await asyncio.sleep(0.01)
        if self.mode == "refuses":
            raise StoreUnavailable("refused")
        if self.mode == "silent":
            await asyncio.Event().wait()

    async def claim(self, key: Key, lease: float, token: str = "") -> Claim:
        if self.mode == "silent":
            await super().claim(key, lease, token)
        await self._trouble()
        return await super().claim(key, lease, token)

    async def commit(self, claim: Claim, value: bytes, ttl: float) -> None:
        await self._trouble()
        await super().commit(claim, value, ttl)

    async def get(self, key: Key) -> bytes | None:
        await self._trouble()
        return await super().get(key)

    async def release(self, claim: Claim) -> None:
        await self._trouble()
        await super().release(claim)

    async def ping(self) -> None:
        await self._trouble()


def guarded(test: Callable[[GuardedStore, Troubled], Coroutine[Any, Any, None]]) -> None:
    """Run a test on a store that fails when it is told to."""

    async def run() -> None:
        inner = Troubled()
        store = GuardedStore(inner, within=0.05, retry_every=0.01)
        try:
            await test(store, inner)
        finally:
            await store.aclose()

    asyncio.run(run())


async def until(true: Callable[[], bool]) -> None:
    for _ in range(2000):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("waited in vain")


def test_a_store_is_unused_until_it_answers() -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        assert store.state == "unused"
        await store.get(KEY)
        assert store.state == "available"

    guarded(run)


@pytest.mark.parametrize("mode", ["refuses", "silent"])
def test_a_store_that_fails_is_unavailable_until_it_answers(mode: str) -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        inner.mode = mode
        with pytest.raises(StoreUnavailable):
            await store.get(KEY)
        assert store.state == "unavailable"
        inner.mode = "well"
        await until(lambda: store.state == "available")
        assert await store.get(KEY) is None

    guarded(run)


def test_nobody_waits_for_a_store_that_is_down() -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        inner.mode = "silent"
        with pytest.raises(StoreUnavailable):
            await store.get(KEY)
        asked = inner.asked
        for _ in range(100):
            with pytest.raises(StoreUnavailable):
                await store.claim(KEY, 60)
        assert inner.asked == asked

    guarded(run)


def test_a_claim_that_was_granted_in_silence_is_released() -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        inner.mode = "silent"
        with pytest.raises(StoreUnavailable):
            await store.claim(KEY, 3600)
        inner.mode = "well"
        with pytest.raises(ConversationBusy):
            await inner.claim(KEY, 3600)
        await until(lambda: not inner._locks)
        assert (await store.claim(KEY, 60)).value is None

    guarded(run)


def test_a_claim_that_its_caller_gave_up_is_released() -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        inner.mode = "silent"
        claiming = asyncio.create_task(store.claim(KEY, 3600))
        await asyncio.sleep(0.01)
        inner.mode = "well"
        claiming.cancel()
        await until(lambda: not inner._locks)

    guarded(run)


def test_a_commit_that_fails_unlocks_what_it_did_not_write() -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        claim = await store.claim(KEY, 3600)
        inner.mode = "refuses"
        with pytest.raises(StoreUnavailable):
            await store.commit(claim, b"one", 60)
        inner.mode = "well"
        await until(lambda: not inner._locks)
        assert await store.get(KEY) is None

    guarded(run)


def test_releasing_never_fails() -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        claim = await store.claim(KEY, 3600)
        inner.mode = "refuses"
        await store.release(claim)
        inner.mode = "well"
        await until(lambda: not inner._locks)

    guarded(run)


def test_a_busy_document_is_no_failure() -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        await store.claim(KEY, 60)
        with pytest.raises(ConversationBusy):
            await store.claim(KEY, 60)
        assert (store.state, store.failures) == ("available", 0)

    guarded(run)


def test_a_store_can_be_tried_before_it_is_used() -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        inner.mode = "refuses"
        store.check_soon()
        await until(lambda: store.state == "unavailable")
        inner.mode = "well"
        await until(lambda: store.state == "available")

    guarded(run)


def test_claims_to_be_released_are_not_collected_forever() -> None:
    async def run(store: GuardedStore, inner: Troubled) -> None:
        inner.mode = "refuses"
        for n in range(10_500):
            await store.release(Claim(KEY, 0, None, str(n)))
        assert len(store._strays) == 10_000

    guarded(run)


def test_a_store_that_answers_somebody_is_not_down() -> None:
    """More is asked than can be answered at once: those who come late wait their turn."""

    class Slow(MemoryStore):
        room = asyncio.Semaphore(1)

        async def get(self, key: Key) -> bytes | None:
            async with self.room:
                await asyncio.sleep(0.02)
                return await super().get(key)

    async def run() -> None:
        store = GuardedStore(Slow(), within=0.09, retry_every=0.01)
        answers = await asyncio.gather(*(store.get(KEY) for _ in range(30)))
        assert answers == [None] * 30
        assert (store.state, store.failures) == ("available", 0)
        await store.aclose()

    asyncio.run(run())


def test_a_process_that_is_late_itself_does_not_blame_the_store() -> None:
    class Answering(MemoryStore):
        async def get(self, key: Key) -> bytes | None:
            await asyncio.sleep(0.03)
            return await super().get(key)

    async def run() -> None:
        store = GuardedStore(Answering(), within=0.09, retry_every=0.01)
        asking = asyncio.create_task(store.get(KEY))
        await asyncio.sleep(0)
        time.sleep(0.5)  # noqa: ASYNC251 - that is what is tested
        assert await asking is None
        assert store.state == "available"
        await store.aclose()

    asyncio.run(run())


def test_who_still_asks_a_closed_store_is_refused_without_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test(store: GuardedStore, inner: Troubled) -> None:
        inner.mode = "slow refusal"
        asking = asyncio.create_task(store.get(KEY))
        await asyncio.sleep(0)
        inner.mode = "refuses"
        await store.aclose()
        for request in (asking, store.get(KEY)):
            with pytest.raises(StoreUnavailable):
                await request

    guarded(test)
    assert not caplog.records
