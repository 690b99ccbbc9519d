"""What is stored of each key stays within bounds."""

import asyncio

from msgspec import Raw

from toolwire.sessions.memory import MemoryStore
from toolwire.surfaces.responses import pruning
from toolwire.surfaces.responses.pruning import Pruner
from toolwire.surfaces.responses.state import ITEM, RESPONSE, NewResponse, ResponseStore

TTL = 60.0


async def keep(stored: ResponseStore, owner: str, number: int, size: int = 10) -> None:
    """Store a response with one item."""
    item = {"id": f"msg_{number}", "type": "message", "text": "a" * size}
    raw = Raw(b'{"output":[{"id":"msg_%d"}]}' % number)
    await stored.put(owner, f"resp_{number:04}", NewResponse(raw, [{"text": "a" * size}]), [item])


async def pruned(*owners: str, number: int, size: int = 10, **bounds: int) -> MemoryStore:
    """Store that many responses of each owner; then let the pruner end."""
    store = MemoryStore()
    stored = ResponseStore(store, TTL, 1 << 20)
    pruner = Pruner(stored, **{"most": 1000, "most_bytes": 1 << 30, **bounds})
    for at in range(number):
        for owner in owners:
            await keep(stored, owner, at, size)
            pruner.added(owner)
        await asyncio.sleep(0)
    await asyncio.gather(*pruner._tasks.values())
    return store


async def ids(store: MemoryStore, owner: str, kind: str = RESPONSE) -> list[str]:
    return [entry.id for entry in await store.list(kind, owner, "", 10_000)]


def test_the_oldest_are_deleted_with_their_items() -> None:
    async def work() -> None:
        store = await pruned("one", "two", number=pruning._EVERY * 3 + 2, most=5)
        for owner in ("one", "two"):
            names = await ids(store, owner)
            assert 5 <= len(names) <= 5 + pruning._EVERY
            assert names[-1] == f"resp_{pruning._EVERY * 3 + 1:04}"
            assert len(await ids(store, owner, ITEM)) == len(names)

    asyncio.run(work())


def test_bytes_are_limited_too() -> None:
    async def work() -> None:
        store = await pruned("one", number=pruning._EVERY + 2, size=10_000, most_bytes=55_000)
        assert await ids(store, "one") == [f"resp_{at:04}" for at in range(17, 22)]

    asyncio.run(work())


def test_what_is_within_bounds_is_kept() -> None:
    async def work() -> None:
        assert len(await ids(await pruned("one", number=50), "one")) == 50

    asyncio.run(work())


def test_more_than_one_list_holds_is_deleted_too() -> None:
    async def work() -> None:
        store = await pruned("one", number=pruning._EVERY + 2, most=2, beyond=3)
        assert await ids(store, "one") == ["resp_0020", "resp_0021"]

    asyncio.run(work())
