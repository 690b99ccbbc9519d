"""Redis that is killed, paused, slow, full or restarted while it is used: what callers see."""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.redis_server import RedisServer, redis_server

from toolwire.errors import ConversationBusy, GatewayError, StoreUnavailable
from toolwire.sessions.base import Key
from toolwire.sessions.guard import GuardedStore
from toolwire.sessions.redis import RedisStore

SOON = 3.0
"""Seconds within which a caller hears that Redis is down: one, and room for a busy machine."""
TTL, LEASE = 3600.0, 30.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that keeps what it was told over a restart."""
    with redis_server(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as running:
        yield running


def with_store(
    server: RedisServer, test: Callable[[GuardedStore], Coroutine[Any, Any, None]]
) -> None:
    """Run a test on a store that is closed afterwards."""

    async def run() -> None:
        store = GuardedStore(RedisStore(server.url))
        try:
            await test(store)
        finally:
            await store.aclose()

    asyncio.run(run())


def key(number: int) -> Key:
    return Key("conversation", f"key_{number % 10}", f"conv_{number}")


async def until_available(store: GuardedStore) -> None:
    for _ in range(1000):
        if store.state == "available":
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not recover")


async def refused(store: GuardedStore) -> float:
    """How long a caller waits to hear that there is no store."""
    started = time.monotonic()
    with pytest.raises(StoreUnavailable):
        await store.claim(key(0), LEASE)
    return time.monotonic() - started


def test_redis_that_is_down_at_the_start_is_used_once_it_is_up(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)

    async def run(store: GuardedStore) -> None:
        assert await refused(store) < SOON
        await asyncio.to_thread(server.start)
        await until_available(store)
        await store.put({key(1): b"one"}, TTL)
        assert await store.get(key(1)) == b"one"

    try:
        with_store(server, run)
    finally:
        server.kill()


def test_redis_that_is_paused_is_an_error_in_time_and_locks_nothing(server: RedisServer) -> None:
    async def run(store: GuardedStore) -> None:
        await store.commit(await store.claim(key(0), LEASE), b"one", TTL)
        server.pause()
        assert await refused(store) < SOON
        assert max([await refused(store) for _ in range(100)]) < SOON / 3
        server.resume()
        await until_available(store)
        await asyncio.sleep(0.3)  # what was sent before the pause may have been granted since
        assert (await store.claim(key(0), LEASE)).value == b"one"

    with_store(server, run)


def test_redis_that_is_slow_is_like_redis_that_is_down(server: RedisServer) -> None:
    async def run(store: GuardedStore) -> None:
        await store.ping()
        sleeping = asyncio.create_task(asyncio.to_thread(server.ask, "DEBUG", "SLEEP", 2))
        await asyncio.sleep(0.2)
        assert await refused(store) < SOON
        await sleeping
        await until_available(store)
        await store.ping()

    with_store(server, run)


def test_redis_that_is_full_refuses_and_recovers(server: RedisServer) -> None:
    async def run(store: GuardedStore) -> None:
        claim = await store.claim(key(0), LEASE)
        await asyncio.to_thread(server.ask, "CONFIG", "SET", "maxmemory", "1mb")
        with pytest.raises(StoreUnavailable):
            await store.commit(claim, bytes(2_000_000), TTL)
        await asyncio.to_thread(server.ask, "CONFIG", "SET", "maxmemory", "0")
        await until_available(store)
        await store.release(claim)  # as a turn does that could not be kept
        assert await store.get(key(0)) is None
        await store.commit(await store.claim(key(0), LEASE), bytes(2_000_000), TTL)

    with_store(server, run)


def test_a_replica_that_cannot_be_written_is_unavailable(
    server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("replica")
    with redis_server(place, "--replicaof", "127.0.0.1", str(server.port)) as replica:

        async def run(store: GuardedStore) -> None:
            with pytest.raises(StoreUnavailable):
                await store.put({key(0): b"one"}, TTL)
            await asyncio.sleep(0.6)
            assert store.state == "unavailable"

        with_store(replica, run)


def test_scripts_are_loaded_again_after_a_restart(server: RedisServer) -> None:
    async def run(store: GuardedStore) -> None:
        await store.put({key(0): b"one"}, TTL)
        await asyncio.to_thread(server.ask, "SCRIPT", "FLUSH")
        assert await store.get(key(0)) == b"one"

    with_store(server, run)


class Load:
    """Turns of many conversations at once, each of which counts up; and what was confirmed."""

    def __init__(self, store: GuardedStore, conversations: int = 40) -> None:
        self.store = store
        self.conversations = conversations
        self.confirmed = dict.fromkeys(range(conversations), 0)
        self.uncertain = dict.fromkeys(range(conversations), 0)
        self.unavailable = self.slowest = 0.0
        self.turns = 0
        self.ended = False

    async def run(self, number: int) -> None:
        """Turns of one conversation, until the end."""
        while not self.ended:
            started = time.monotonic()
            try:
                await self._turn(number)
            except StoreUnavailable:
                self.unavailable += 1
            except ConversationBusy:
                pass  # a claim that Redis granted in silence, and that is about to be released
            self.slowest = max(self.slowest, time.monotonic() - started)
            await asyncio.sleep(0.01 * random.random())

    async def _turn(self, number: int) -> None:
        claim = await self.store.claim(key(number), LEASE)
        name, _, count = (claim.value or b"%d 0" % number).partition(b" ")
        assert int(name) == number, "the conversation of somebody else"
        assert int(count) >= self.confirmed[number], "a turn was lost"
        assert int(count) <= self.confirmed[number] + self.uncertain[number]
        self.confirmed[number], self.uncertain[number] = int(count), 0
        try:
            await self.store.commit(claim, b"%d %d" % (number, int(count) + 1), TTL)
        except GatewayError:
            self.uncertain[number] += 1
            raise
        self.confirmed[number] += 1
        self.turns += 1


def test_no_turn_is_lost_or_mixed_up_while_redis_comes_and_goes(server: RedisServer) -> None:
    async def trouble(load: Load) -> None:
        for act in ("kill", "pause", "kill", "pause"):
            before = load.turns
            if act == "kill":
                await asyncio.to_thread(server.kill)
                await asyncio.sleep(0.5)
                await asyncio.to_thread(server.start)
            else:
                server.pause()
                await asyncio.sleep(1.5)
                server.resume()
            await until_available(load.store)
            async with asyncio.timeout(30):
                while load.turns < before + 3 * load.conversations:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        load.ended = True

    async def run(store: GuardedStore) -> None:
        load = Load(store)
        async with asyncio.TaskGroup() as group:
            for number in range(load.conversations):
                group.create_task(load.run(number))
            group.create_task(trouble(load))
        assert load.unavailable > 0
        assert load.slowest < 2 * SOON
        for number, confirmed in load.confirmed.items():
            name, _, count = (await store.get(key(number)) or b"").partition(b" ")
            assert int(name) == number
            assert confirmed <= int(count) <= confirmed + load.uncertain[number]

    with_store(server, run)


def test_an_answer_never_reaches_another_caller(server: RedisServer) -> None:
    """A caller that is cancelled leaves its answer on the connection: nobody else may read it."""

    async def read(store: GuardedStore, number: int) -> bool:
        try:
            async with asyncio.timeout(random.choice([0, 0.0005, 0.001, 0.002, 5])):
                value = await store.get(key(number))
        except TimeoutError:
            return False
        assert value == b"%d" % number
        return True

    async def run(store: GuardedStore) -> None:
        await store.put({key(number): b"%d" % number for number in range(50)}, TTL)
        answered = 0
        for _ in range(40):
            answered += sum(await asyncio.gather(*(read(store, n) for n in range(50))))
        assert 0 < answered < 2000

    with_store(server, run)
