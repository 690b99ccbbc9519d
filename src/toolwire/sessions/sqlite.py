"""Documents in one SQLite file, which several processes may share.

All work is done by one thread, one transaction at a time, so that the event loop never waits for
the disk. What was committed survives the death of the process; a transaction that was cut off is
undone by whoever opens the file next. After a power cut the last moments may be missing.

Nothing is opened or created before the first call.
"""

import asyncio
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from toolwire.errors import StoreUnavailable
from toolwire.sessions import sqlite_statements as sql
from toolwire.sessions.base import Claim, Entry, Key, busy, lost

T = TypeVar("T")

_RETRY_SECONDS = (0.0001, 0.0005)
_FEWEST_TRIES = 200
"""However late it is: a process that was paused for a second has not waited for anybody."""
_SWEEP_EVERY = 30.0
_SWEEP_AGAIN = 0.05
_SWEPT = 50
_SWEPT_BYTES = 1024 * 1024
"""What one transaction removes at most, because other processes wait for it."""
_SHRUNK = 256
"""Pages that one transaction gives back."""


class _Abandoned(Exception):
    """Nobody waits for the answer any more."""


class SqliteStore:
    """Keeps documents in a file."""

    def __init__(
        self, path: Path, *, clock: Callable[[], float] = time.time, sweep: float = _SWEEP_EVERY
    ) -> None:
        self._path = path
        self._clock = clock
        self._sweep_every = sweep
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="toolwire-sessions")
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._closed = False

    async def claim(self, key: Key, lease: float, token: str = "") -> Claim:
        """Lock a document, and load it."""
        token = token or uuid4().hex

        def work(db: sqlite3.Connection) -> Claim:
            now = self._clock()
            if _locked(db, key, now):
                raise busy()
            db.execute(sql.DELETE_EXPIRED, (*_name(key), now))
            db.execute(sql.LOCK, (*_name(key), token, now + lease))
            db.execute(sql.NEXT_FENCE)
            (fence,) = db.execute(sql.FENCE).fetchone()
            row = db.execute(sql.VALUE, _name(key)).fetchone()
            return Claim(key, fence, None if row is None else row[0], token)

        return await self._do(work)

    async def renew(self, claim: Claim, lease: float) -> None:
        """Keep a document locked."""

        def work(db: sqlite3.Connection) -> None:
            now = self._clock()
            renewed = db.execute(sql.RENEW, (now + lease, *_name(claim.key), claim.token, now))
            if renewed.rowcount == 0:
                raise lost()

        await self._do(work)

    async def commit(self, claim: Claim, value: bytes, ttl: float) -> None:
        """Write a claimed document and unlock it."""

        def work(db: sqlite3.Connection) -> None:
            now = self._clock()
            held = (*_name(claim.key), claim.token, now)
            if db.execute(sql.UNLOCK_HELD, held).rowcount == 0:
                raise lost()
            _write(db, claim.key, value, now, ttl)

        await self._do(work)

    async def release(self, claim: Claim) -> None:
        """Unlock a document, unchanged."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(sql.UNLOCK, (*_name(claim.key), claim.token))

        await self._do(work)

    async def get(self, key: Key) -> bytes | None:
        """Read a document."""

        def work(db: sqlite3.Connection) -> bytes | None:
            row = db.execute(sql.LIVING_VALUE, {**_named(key), "now": self._clock()}).fetchone()
            return None if row is None else row[0]

        return await self._do(work, writes=False)

    async def put(self, values: dict[Key, bytes], ttl: float) -> None:
        """Write documents without a claim."""

        def work(db: sqlite3.Connection) -> None:
            now = self._clock()
            for key, value in values.items():
                if _locked(db, key, now):
                    raise busy()
                db.execute(sql.DELETE_EXPIRED, (*_name(key), now))
                _write(db, key, value, now, ttl)

        await self._do(work)

    async def delete(self, key: Key) -> bool:
        """Delete a document."""

        def work(db: sqlite3.Connection) -> bool:
            now = self._clock()
            if _locked(db, key, now):
                raise busy()
            db.execute(sql.DELETE_EXPIRED, (*_name(key), now))
            return db.execute(sql.DELETE, _name(key)).rowcount > 0

        return await self._do(work)

    async def list(self, kind: str, owner: str, after: str, limit: int) -> list[Entry]:
        """An owner's documents in the order of their ids."""
        given = (kind, owner, after)

        def work(db: sqlite3.Connection) -> list[Entry]:
            rows = db.execute(sql.LIST, (*given, self._clock(), limit))
            return [Entry(*row) for row in rows]

        return await self._do(work, writes=False)

    async def count(self, kind: str, owner: str) -> int:
        """How many documents an owner has."""
        given = {"kind": kind, "owner": owner, "now": self._clock()}

        def work(db: sqlite3.Connection) -> int:
            (number,) = db.execute(sql.COUNT, given).fetchone()
            return int(number)

        return await self._do(work, writes=False)

    async def ping(self) -> None:
        """Write something, because a full disk can still be read."""

        def work(db: sqlite3.Connection) -> None:
            db.execute(sql.NEXT_FENCE)

        await self._do(work)

    async def aclose(self) -> None:
        """Finish what was begun, and close the file."""
        if self._closed:
            return
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.wait([self._sweeper])
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    async def _do(self, work: Callable[[sqlite3.Connection], T], *, writes: bool = True) -> T:
        """Do something in the thread, as one transaction."""
        if self._closed:
            raise StoreUnavailable(f"{self._path}: closed")
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
        abandoned = threading.Event()

        def run() -> T:
            return self._transact(work, "BEGIN IMMEDIATE" if writes else "BEGIN", abandoned)

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, run)
        except asyncio.CancelledError:
            abandoned.set()
            raise

    def _transact(
        self,
        work: Callable[[sqlite3.Connection], T],
        begin: str,
        abandoned: threading.Event,
    ) -> T:
        try:
            db = self._open()
            _when_free(db, partial(db.execute, begin))
            try:
                answer = work(db)
                if abandoned.is_set():
                    raise _Abandoned
                db.execute("COMMIT")
                return answer
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")
        except sqlite3.ProgrammingError:
            raise  # ours
        except (sqlite3.Error, OSError) as error:
            if not _passes(error):
                self._close()
            raise StoreUnavailable(f"{self._path}: {_reason(error)}") from error

    def _open(self) -> sqlite3.Connection:
        """The connection of this thread."""
        if self._connection is not None and self._file != _file_at(self._path):
            self._close()  # the file was deleted or replaced; others would not see what we write
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):
                # SQLite gives its other files the permissions of this one. A file that exists is
                # not opened here: closing it would drop the locks that this process has on it.
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            db = sqlite3.connect(self._path, isolation_level=None, timeout=sql.BUSY_SECONDS)
            try:
                _when_free(db, partial(_set_up, db))
            except BaseException:
                db.close()
                raise
            self._connection = db
            self._file = _file_at(self._path)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error), closing(self._connection):
                self._connection = None

    async def _sweep(self) -> None:
        """Remove what has expired, and give back what is free in the file, a little at a time."""
        pause = self._sweep_every
        while True:
            await asyncio.sleep(pause)
            pause = self._sweep_every
            with suppress(StoreUnavailable):
                if await self._do(self._remove_some):
                    pause = _SWEEP_AGAIN
                elif await self._do(_shrink):
                    await asyncio.get_running_loop().run_in_executor(self._thread, self._checkpoint)
                    pause = _SWEEP_AGAIN

    def _checkpoint(self) -> None:
        """Write the journal to the file, which only then becomes smaller."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.execute(sql.CHECKPOINT)

    def _remove_some(self, db: sqlite3.Connection) -> bool:
        """Remove some of what has expired; True if there may be more."""
        now = self._clock()
        rows = db.execute(sql.TO_REMOVE, {"now": now, "limit": _SWEPT}).fetchall()
        taken, size = 0, 0
        while taken < len(rows) and size < _SWEPT_BYTES:
            size += rows[taken][1]
            taken += 1
        db.executemany(sql.REMOVE, [(row,) for row, _ in rows[:taken]])
        db.execute(sql.DELETE_OLD_LOCKS, (now, _SWEPT))
        return taken < len(rows) or taken == _SWEPT


def _when_free(db: sqlite3.Connection, work: Callable[[], object]) -> None:
    """Do something as soon as no other process is in a transaction.

    SQLite's own waiting sleeps longer and longer. Beside a process that always has something to
    write, it would never wake up at the right moment.
    """
    until = time.monotonic() + sql.BUSY_SECONDS
    tries = 0
    db.execute("PRAGMA busy_timeout = 0")
    try:
        while not _done(work):
            tries += 1
            if tries > _FEWEST_TRIES and time.monotonic() > until:
                work()  # raises what it is
                return
            time.sleep(random.uniform(*_RETRY_SECONDS))  # noqa: S311 - not a secret
    finally:
        db.execute(f"PRAGMA busy_timeout = {sql.BUSY_SECONDS * 1000:.0f}")


def _done(work: Callable[[], object]) -> bool:
    """Try to do something; False if another process is in a transaction."""
    try:
        work()
    except sqlite3.OperationalError as error:
        if not _is_busy(error):
            raise
        return False
    return True


def _file_at(path: Path) -> tuple[int, int] | None:
    """Which file is at a path, if any."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a third of the time of Path.stat
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _set_up(db: sqlite3.Connection) -> None:
    """Make the tables, unless they are there."""
    for pragma in sql.PRAGMAS:
        db.execute(pragma)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > sql.VERSION:
        raise sqlite3.NotSupportedError("was written by a newer version of Toolwire")
    if version < sql.VERSION:
        # Another process may have made them meanwhile, so each is made only if it is not there.
        db.executescript(
            f"BEGIN IMMEDIATE; {sql.TABLES} PRAGMA user_version = {sql.VERSION}; COMMIT;"
        )


def _shrink(db: sqlite3.Connection) -> bool:
    """Give back some of the file if more than an eighth of it is free, which is kept for what comes
    next; True if there may be more. A file of an earlier version keeps its size."""
    free, pages = db.execute(sql.FREE).fetchone()
    if free * 8 <= pages:
        return False
    for _ in range(_SHRUNK):  # for a larger number Python would only take the first step
        db.execute(sql.SHRINK)
    return bool(db.execute(sql.FREE).fetchone()[0] < free)


def _name(key: Key) -> tuple[str, str, str]:
    return key.kind, key.owner, key.id


def _named(key: Key) -> dict[str, object]:
    return {"kind": key.kind, "owner": key.owner, "id": key.id}


def _locked(db: sqlite3.Connection, key: Key, now: float) -> bool:
    return db.execute(sql.LOCKED, (*_name(key), now)).fetchone() is not None


def _write(db: sqlite3.Connection, key: Key, value: bytes, now: float, ttl: float) -> None:
    given = {**_named(key), "value": value, "size": len(value), "now": now, "expires": now + ttl}
    db.execute(sql.WRITE, given)


def _passes(error: Exception) -> bool:
    """Whether the connection is still good: the file is locked by others, or the disk is full."""
    return _is_busy(error) or _code(error) == sqlite3.SQLITE_FULL


def _is_busy(error: Exception) -> bool:
    return _code(error) == sqlite3.SQLITE_BUSY


def _code(error: Exception) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _reason(error: Exception) -> str:
    """What an operator can do something about."""
    if isinstance(error, OSError):
        return f"cannot be opened ({error.strerror}); see 'sessions' in the configuration"
    return str(error)
