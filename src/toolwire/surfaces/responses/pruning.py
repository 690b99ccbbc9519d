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


class Pruner:
    """Deletes old responses. Ids of responses are in the order of time."""

    def __init__(
        self, stored: ResponseStore, *, most: int, most_bytes: int, beyond: int = 1000
    ) -> None:
        """`beyond` is how many responses beyond the bound are listed at once."""
        self._stored = stored
        self._beyond = beyond
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
        deleted = 1
        with suppress(StoreUnavailable):
            while deleted:
                entries = await store.list(RESPONSE, owner, "", self._most + self._beyond)
                excess = self._excess(entries)
                deleted = sum([await self._delete(owner, entry.id) for entry in excess])

    async def _delete(self, owner: str, response_id: str) -> bool:
        try:
            await self._stored.delete(owner, response_id)
        except (ResponseNotFound, ConversationBusy):
            return False  # somebody else deletes it
        return True

    def _excess(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the oldest entries that are too many, or too large together with later ones."""
        if len(entries) == self._most + self._beyond:
            return entries[: self._beyond]  # there may be later ones
        kept, size = 0, 0
        for entry in reversed(entries):
            size += entry.size
            if kept == self._most or size > self._most_bytes:
                break
            kept += 1
        return entries[: len(entries) - kept]
