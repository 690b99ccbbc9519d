"""Keeps the stored responses of each client key within bounds: the oldest are deleted.

It runs after answers, and never delays one. So there may be a few more for a moment.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from toolwire.errors import ConversationBusy, StoreUnavailable
from toolwire.sessions.base import Entry, Store
from toolwire.surfaces.responses.errors import ResponseNotFound
from toolwire.surfaces.responses.state import RESPONSE, ResponseStore

_EVERY = 20
"""Responses of a key after which its bounds are checked."""


_PAGE = 1000
"""Responses that are listed at once."""


class Pruner:
    """Deletes old responses."""

    def __init__(self, stored: ResponseStore, *, most: int, most_bytes: int) -> None:
        self._stored = stored
        self._most = most
        self._most_bytes = most_bytes
        self._added: dict[str, int] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def added(self, owner: str) -> None:
        """Note that a response was stored. The first one of a process counts as many."""
        self._added[owner] = self._added.get(owner, _EVERY) + 1
        if self._added[owner] > _EVERY and owner not in self._tasks and self._stored.store:
            self._added[owner] = 0
            task = self._tasks[owner] = asyncio.create_task(self._prune(self._stored.store, owner))
            task.add_done_callback(lambda _: self._tasks.pop(owner))

    async def _prune(self, store: Store, owner: str) -> None:
        with suppress(StoreUnavailable):
            for entry in self._excess(await _entries(store, owner)):
                with suppress(ResponseNotFound, ConversationBusy):  # somebody else deletes it
                    await self._stored.delete(owner, entry.id)

    def _excess(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the oldest entries that are too many, or too large together with later ones."""
        newest = sorted(entries, key=lambda entry: entry.created, reverse=True)
        size = 0
        for kept, entry in enumerate(newest):
            size += entry.size
            if kept == self._most or size > self._most_bytes:
                return newest[kept:]
        return ()


async def _entries(store: Store, owner: str) -> Sequence[Entry]:
    entries: list[Entry] = []
    while page := await store.list(RESPONSE, owner, entries[-1].id if entries else "", _PAGE):
        entries += page
    return entries
