"""What is stored of each key stays within bounds."""

import asyncio
import itertools

from msgspec import Raw

from toolwire.sessions.base import Entry
from toolwire.sessions.memory import MemoryStore
from toolwire.surfaces.responses.storage import pruning
from toolwire.surfaces.responses.storage.pruning import Pruner
from toolwire.surfaces.responses.storage.state import ITEM, RESPONSE, NewResponse, ResponseStore

TTL = 60.0


def name(number: int) -> str:
    """The id of a response. Later ones sort before earlier ones."""
    return f"resp_{9999 - number}"


async def keep(stored: ResponseStore, owner: str, number: int, size: int = 10) -> int:
    """Store a response with one item."""
    item = {"id": f"msg_{number}", "type": "message", "text": "a" * size}
    raw = Raw(b'{"output":[{"id":"msg_%d"}]}' % number)
    return await stored.put(owner, name(number), NewResponse(raw, [{"text": "a" * size}]), [item])


async def pruned(*owners: str, number: int, size: int = 10, **bounds: int) -> MemoryStore:
    """Store that many responses of each owner; then let the pruner end."""
    seconds = itertools.count()
    store = MemoryStore(clock=lambda: next(seconds) / 1000)
    stored = ResponseStore(store, TTL, 1 << 20)
    pruner = Pruner(stored, **{"most": 1000, "most_bytes": 1 << 30, **bounds})
    for at in range(number):
        for owner in owners:
            pruner.added(owner, await keep(stored, owner, at, size))
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
            assert names == [name(pruning._EVERY * 3 + 1 - at) for at in range(len(names))]
            assert len(await ids(store, owner, ITEM)) == len(names)

    asyncio.run(work())


def test_bytes_are_limited_too() -> None:
    async def work() -> None:
        store = await pruned("one", number=pruning._EVERY + 2, size=10_000, most_bytes=110_000)
        names = await ids(store, "one")
        assert names == [name(21 - at) for at in range(len(names))]
        assert 5 <= len(names) <= 6  # of 20,000 bytes, with the item; one came while it pruned

    asyncio.run(work())


def test_large_responses_are_not_waited_for_to_be_many() -> None:
    async def work() -> None:
        store = await pruned("one", number=10, size=10_000, most_bytes=50_000)
        assert len(await ids(store, "one")) <= 3

    asyncio.run(work())


def test_what_is_within_bounds_is_kept() -> None:
    async def work() -> None:
        assert len(await ids(await pruned("one", number=50), "one")) == 50

    asyncio.run(work())


def test_more_than_one_page_is_read() -> None:
    async def work() -> None:
        number = pruning._PAGE + 2 * pruning._EVERY
        names = await ids(await pruned("one", number=number, most=pruning._PAGE + 5), "one")
        assert names[0] == name(number - 1)
        assert pruning._PAGE + 5 <= len(names) < number

    asyncio.run(work())


def test_the_oldest_go_first_so_that_a_store_that_fails_leaves_no_hole() -> None:
    pruner = Pruner(ResponseStore(None, TTL, 1 << 20), most=7, most_bytes=1 << 30)
    entries = [Entry(name(number), number, number, 10) for number in range(10)]
    assert [entry.id for entry in pruner._excess(entries, [])] == [name(0), name(1), name(2)]
