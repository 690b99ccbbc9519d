"""The stores that the contract is tested on, each with its own way to let time pass."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.redis_server import RedisServer

from toolwire.sessions.base import Key, Store
from toolwire.sessions.guard import GuardedStore
from toolwire.sessions.memory import MemoryStore
from toolwire.sessions.redis import RedisStore
from toolwire.sessions.sqlite import SqliteStore

LEASE = 30.0
TTL = 3600.0
SHORT = 1.0
"""A life or a lease that a test waits for, long enough for a busy machine to do something in it."""


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass
class Bench:
    """Opens one kind of store, several times on the same documents, and lets time pass for it."""

    open: Callable[[], Store]
    wait: Callable[[float], Awaitable[None]]
    opened: list[Store] = field(default_factory=list)

    def store(self) -> Store:
        """A store; each is closed when the test ends."""
        self.opened.append(self.open())
        return self.opened[-1]


def memory() -> Bench:
    """The store in memory: opened again, it is the same one."""
    hands = Hands()
    store = MemoryStore(clock=hands)
    return Bench(lambda: store, hands.wait)


def sqlite(folder: Path) -> Bench:
    """The store in a file."""
    hands = Hands()
    return Bench(lambda: SqliteStore(folder / "sessions.db", clock=hands), hands.wait)


def guarded(folder: Path) -> Bench:
    """A store as the gateway has it."""
    inner = sqlite(folder)
    return Bench(lambda: GuardedStore(inner.open(), within=10), inner.wait)


def redis(nodes: Sequence[RedisServer]) -> Bench:
    """The store in Redis, where time passes by itself."""
    for node in nodes:
        node.ask("FLUSHALL")
    return Bench(lambda: RedisStore(nodes[0].url), asyncio.sleep)


def key(name: str = "conv_1", owner: str = "alice", kind: str = "conversation") -> Key:
    """A document's name."""
    return Key(kind, owner, name)


def on_a_store(
    test: Callable[[Store, Bench], Coroutine[Any, Any, None]],
) -> Callable[[Bench], None]:
    """Run a test with a store, and close what it opened."""

    async def run(bench: Bench) -> None:
        try:
            await test(bench.store(), bench)
        finally:
            for store in bench.opened:
                await store.aclose()

    def wrapped(bench: Bench) -> None:
        asyncio.run(run(bench))

    wrapped.__name__, wrapped.__doc__ = test.__name__, test.__doc__
    return wrapped
