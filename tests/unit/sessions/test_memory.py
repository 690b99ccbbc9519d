"""The store in memory stays within its bounds."""

import asyncio

import pytest

from toolwire.errors import ConversationBusy
from toolwire.sessions.base import Key
from toolwire.sessions.memory import MemoryStore


def key(n: int) -> Key:
    return Key("conversation", "", f"conv_{n}")


def test_what_was_written_first_makes_room() -> None:
    async def run() -> None:
        store = MemoryStore(most_documents=3)
        for n in range(5):
            await store.put({key(n): b"one"}, 60)
        assert [e.id for e in await store.list("conversation", "", "", 9)] == [
            "conv_2",
            "conv_3",
            "conv_4",
        ]

    asyncio.run(run())


def test_large_documents_make_room_too() -> None:
    async def run() -> None:
        store = MemoryStore(most_bytes=1000)
        for n in range(5):
            await store.put({key(n): bytes(400)}, 60)
        assert await store.count("conversation", "") == 2

    asyncio.run(run())


def test_a_claimed_document_stays() -> None:
    async def run() -> None:
        store = MemoryStore(most_documents=2)
        await store.put({key(0): b"one"}, 60)
        claim = await store.claim(key(0), 60)
        for n in range(1, 9):
            await store.put({key(n): b"one"}, 60)
        assert claim.value == await store.get(key(0)) == b"one"
        assert await store.count("conversation", "") == 2

    asyncio.run(run())


def test_locks_that_were_never_released_are_forgotten() -> None:
    async def run() -> None:
        now = [0.0]
        store = MemoryStore(clock=lambda: now[0])
        for n in range(1000):
            now[0] += 1
            await store.claim(key(n), 10)
        assert len(store._locks) <= 10
        with pytest.raises(ConversationBusy):
            await store.claim(key(999), 10)

    asyncio.run(run())
