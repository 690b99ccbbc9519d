"""Keeps the stored responses of each client key within bounds: the oldest are deleted.

It runs after answers, and never delays one. So there may be a few more for a moment.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from toolwire.errors import ConversationBusy, StoreUnavailable
from toolwire.sessions.base import Entry, Store
from toolwire.surfaces.responses.errors import ResponseNotFound
from toolwire.surfaces.responses.storage.state import ITEM, RESPONSE, ResponseStore

_EVERY = 20
"""Responses of a key after which its bounds are checked."""
_SHARE = 16
"""Or this part of its bytes: a few large responses could double them."""

_PAGE = 1000
"""Responses that are listed at once."""


class Pruner:
    """Deletes old responses."""

    def __init__(self, stored: ResponseStore, *, most: int, most_bytes: int) -> None:
        self._stored = stored
        self._most = most
        self._most_bytes = most_bytes
        self._added: dict[str, float] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def added(self, owner: str, size: int) -> None:
        """Note that a response was stored. The first one of a process counts as many."""
        counts = 1 + _EVERY * _SHARE * size / self._most_bytes
        self._added[owner] = self._added.get(owner, _EVERY) + counts
        if self._added[owner] > _EVERY and owner not in self._tasks and self._stored.store:
            self._added[owner] = 0
            task = self._tasks[owner] = asyncio.create_task(self._prune(self._stored.store, owner))
            task.add_done_callback(lambda _: self._tasks.pop(owner))

    async def _prune(self, store: Store, owner: str) -> None:
        with suppress(StoreUnavailable):
            responses = await _entries(store, RESPONSE, owner)
            for entry in self._excess(responses, await _entries(store, ITEM, owner)):
                with suppress(ResponseNotFound, ConversationBusy):  # somebody else deletes it
                    await self._stored.delete(owner, entry.id)

    def _excess(self, responses: Sequence[Entry], items: Sequence[Entry]) -> Sequence[Entry]:
        """Return the responses that are too many, or too large together with later ones, the oldest
        first: if the store fails meanwhile, no hole is left.

        Items are stored right after their response, so they count with it.
        """
        newest, uncounted = sorted(responses, key=_age), sorted(items, key=_age, reverse=True)
        size = 0
        for kept, entry in enumerate(newest):
            while uncounted and uncounted[-1].created >= entry.created:
                size += uncounted.pop().size
            size += entry.size
            if kept == self._most or size > self._most_bytes:
                return newest[kept:][::-1]
        return ()


def _age(entry: Entry) -> float:
    return -entry.created


async def _entries(store: Store, kind: str, owner: str) -> Sequence[Entry]:
    entries: list[Entry] = []
    while page := await store.list(kind, owner, entries[-1].id if entries else "", _PAGE):
        entries += page
    return entries
