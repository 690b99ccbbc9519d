"""Documents in the memory of one process: for tests, and for a gateway that may forget.

Nothing survives a restart, and other processes see none of it. Beyond its bounds, the store drops
what was written longest ago, as if it had expired.
"""

import time
from bisect import bisect_right, insort
from collections.abc import Callable
from itertools import islice
from uuid import uuid4

import msgspec

from toolwire.sessions.base import Claim, Entry, Key, busy, lost

_MIB = 1024 * 1024
_SWEPT = 100
"""Documents that one write may drop: nobody waits for all of them."""


class _Document(msgspec.Struct, frozen=True):
    value: bytes
    created: float
    updated: float
    expires: float


class _Lock(msgspec.Struct):
    token: str
    until: float


class MemoryStore:
    """Keeps documents in this process, as many as its bounds allow."""

    def __init__(
        self,
        *,
        most_documents: int = 100_000,
        most_bytes: int = 256 * _MIB,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._most_documents = most_documents
        self._most_bytes = most_bytes
        self._clock = clock
        self._documents: dict[Key, _Document] = {}  # in the order in which they were written
        self._ids: dict[tuple[str, str], list[str]] = {}  # sorted
        self._locks: dict[Key, _Lock] = {}
        self._bytes = 0
        self._last_fence = 0

    async def claim(self, key: Key, lease: float, token: str = "") -> Claim:
        """Lock a document, and load it."""
        now = self._clock()
        self._drop_old_locks(now)
        if self._locked(key, now):
            raise busy()
        found = self._find(key, now)
        if found is None:
            self._remove(key)
        token = token or uuid4().hex
        self._locks[key] = _Lock(token, now + lease)
        self._last_fence += 1
        return Claim(key, self._last_fence, None if found is None else found.value, token)

    async def renew(self, claim: Claim, lease: float) -> None:
        """Keep a document locked."""
        self._held(claim).until = self._clock() + lease

    async def commit(self, claim: Claim, value: bytes, ttl: float) -> None:
        """Write a claimed document and unlock it."""
        self._held(claim)
        self._write(claim.key, value, ttl)
        del self._locks[claim.key]

    async def release(self, claim: Claim) -> None:
        """Unlock a document, unchanged."""
        lock = self._locks.get(claim.key)
        if lock is not None and lock.token == claim.token:
            del self._locks[claim.key]

    async def get(self, key: Key) -> bytes | None:
        """Read a document."""
        document = self._find(key, self._clock())
        return None if document is None else document.value

    async def put(self, values: dict[Key, bytes], ttl: float) -> None:
        """Write documents without a claim."""
        now = self._clock()
        if any(self._locked(key, now) for key in values):
            raise busy()
        for key, value in values.items():
            self._write(key, value, ttl)

    async def delete(self, key: Key) -> bool:
        """Delete a document."""
        now = self._clock()
        if self._locked(key, now):
            raise busy()
        there = self._find(key, now) is not None
        self._remove(key)
        return there

    async def list(self, kind: str, owner: str, after: str, limit: int) -> list[Entry]:
        """An owner's documents in the order of their ids."""
        ids = self._ids.get((kind, owner), [])
        rest = islice(ids, bisect_right(ids, after), None)
        keys = (Key(kind, owner, each) for each in rest)
        return [self._entry(key) for key in islice(filter(self._lives, keys), limit)]

    async def count(self, kind: str, owner: str) -> int:
        """How many documents an owner has."""
        ids = self._ids.get((kind, owner), [])
        return sum(self._lives(Key(kind, owner, each)) for each in ids)

    async def ping(self) -> None:
        """Memory always answers."""

    async def aclose(self) -> None:
        """Forget everything."""
        self._documents.clear()
        self._ids.clear()
        self._locks.clear()
        self._bytes = 0

    def _locked(self, key: Key, now: float) -> bool:
        lock = self._locks.get(key)
        return lock is not None and lock.until > now

    def _held(self, claim: Claim) -> _Lock:
        """The lock of a claim that still holds."""
        lock = self._locks.get(claim.key)
        if lock is None or lock.token != claim.token or lock.until <= self._clock():
            raise lost()
        return lock

    def _find(self, key: Key, now: float) -> _Document | None:
        document = self._documents.get(key)
        if document is None or (document.expires <= now and not self._locked(key, now)):
            return None
        return document

    def _lives(self, key: Key) -> bool:
        return self._documents[key].expires > self._clock()

    def _entry(self, key: Key) -> Entry:
        found = self._documents[key]
        return Entry(key.id, found.created, found.updated, len(found.value))

    def _write(self, key: Key, value: bytes, ttl: float) -> None:
        now = self._clock()
        before = self._find(key, now)
        self._remove(key)
        created = now if before is None else before.created
        self._documents[key] = _Document(value, created, now, now + ttl)
        insort(self._ids.setdefault((key.kind, key.owner), []), key.id)
        self._bytes += len(value)
        self._drop_old_documents(now)

    def _remove(self, key: Key) -> None:
        document = self._documents.pop(key, None)
        if document is None:
            return
        self._bytes -= len(document.value)
        ids = self._ids[key.kind, key.owner]
        del ids[bisect_right(ids, key.id) - 1]
        if not ids:
            del self._ids[key.kind, key.owner]

    def _drop_old_documents(self, now: float) -> None:
        """Make room: what was written first goes, if it has expired or there is too much."""
        for key in list(islice(self._documents, _SWEPT)):
            full = len(self._documents) > self._most_documents or self._bytes > self._most_bytes
            if not full and self._documents[key].expires > now:
                return
            if not self._locked(key, now):
                self._remove(key)

    def _drop_old_locks(self, now: float) -> None:
        """Forget locks that were never released."""
        while self._locks:
            key = next(iter(self._locks))
            if self._locks[key].until > now:
                return
            del self._locks[key]
