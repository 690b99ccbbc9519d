"""The file: who may read it, what happens if it cannot be written, and what has expired."""

import asyncio
import itertools
import logging
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolwire.errors import StoreUnavailable
from toolwire.sessions import sqlite
from toolwire.sessions import sqlite_statements as sql
from toolwire.sessions.base import Claim, Key
from toolwire.sessions.guard import GuardedStore
from toolwire.sessions.sqlite import SqliteStore


def key(n: int = 0) -> Key:
    return Key("conversation", "", f"conv_{n:06}")


async def until(true: Callable[[], bool]) -> None:
    for _ in range(1000):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("waited in vain")


def with_store(
    path: Path, test: Callable[[SqliteStore], Coroutine[Any, Any, None]], **options: Any
) -> None:
    """Run a test on a store that is closed afterwards."""

    async def run() -> None:
        store = SqliteStore(path, **options)
        try:
            await test(store)
        finally:
            await store.aclose()

    asyncio.run(run())


def test_nothing_is_created_before_it_is_used(tmp_path: Path) -> None:
    async def use(store: SqliteStore) -> None:
        assert store._connection is None

    with_store(tmp_path / "state" / "sessions.db", use)
    assert list(tmp_path.iterdir()) == []


def test_only_the_owner_of_the_process_may_read_the_file(tmp_path: Path) -> None:
    before = os.umask(0)

    async def use(store: SqliteStore) -> None:
        await store.put({key(): b"one"}, 60)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert set(modes.values()) == {0o600}
        assert set(modes) == {"sessions.db", "sessions.db-wal", "sessions.db-shm"}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    folder = tmp_path / "state"
    try:
        with_store(folder / "sessions.db", use)
    finally:
        os.umask(before)


def broken_paths(tmp_path: Path) -> dict[str, Path]:
    """Paths that cannot be used, by the word that says why."""
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "text.db").write_text("not a database, but long enough to look like one " * 100)
    (tmp_path / "folder.db").mkdir()
    return {
        "exists": tmp_path / "file" / "sessions.db",
        "not a database": tmp_path / "text.db",
        "unable to open": tmp_path / "folder.db",
        "No such": Path("/proc/nothing/sessions.db"),
    }


@pytest.mark.parametrize("why", ["exists", "not a database", "unable to open", "No such"])
def test_a_path_that_cannot_be_used_is_an_error_that_says_why(why: str, tmp_path: Path) -> None:
    path = broken_paths(tmp_path)[why]

    async def use(store: SqliteStore) -> None:
        with pytest.raises(StoreUnavailable) as caught:
            await store.claim(key(), 10)
        assert why in caught.value.message
        assert str(path) in caught.value.message

    with_store(path, use)


def test_a_path_that_becomes_usable_is_used(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    path.mkdir()

    async def use(store: SqliteStore) -> None:
        with pytest.raises(StoreUnavailable):
            await store.put({key(): b"one"}, 60)
        path.rmdir()
        await store.put({key(): b"one"}, 60)
        assert await store.get(key()) == b"one"

    with_store(path, use)


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "sessions.db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()

    async def use(store: SqliteStore) -> None:
        with pytest.raises(StoreUnavailable, match="newer version"):
            await store.get(key())

    with_store(tmp_path / "sessions.db", use)


def test_a_full_disk_refuses_what_is_new_and_keeps_what_is_there(tmp_path: Path) -> None:
    async def use(store: SqliteStore) -> None:
        await store.put({key(): b"one"}, 60)
        claim = await store.claim(key(), 60)
        await limit_pages(store, 1)
        with pytest.raises(StoreUnavailable, match="full"):
            await store.commit(claim, bytes(10_000_000), 60)
        assert await store.get(key()) == b"one"
        await limit_pages(store, 1_000_000)
        await store.commit(claim, bytes(10_000_000), 60)
        assert await store.get(key()) == bytes(10_000_000)

    with_store(tmp_path / "sessions.db", use)


async def limit_pages(store: SqliteStore, pages: int) -> None:
    """Let the file grow to so many pages, or no further."""

    def work() -> None:
        assert store._connection is not None
        store._connection.execute(f"PRAGMA max_page_count = {pages}")

    await asyncio.get_running_loop().run_in_executor(store._thread, work)


def test_a_file_that_is_deleted_is_made_again(tmp_path: Path) -> None:
    async def use(store: SqliteStore) -> None:
        await store.put({key(): b"one"}, 60)
        for name in ("sessions.db", "sessions.db-wal", "sessions.db-shm"):
            os.remove(tmp_path / name)  # noqa: PTH107
        await store.put({key(1): b"two"}, 60)
        assert await store.get(key(1)) == b"two"
        assert os.access(tmp_path / "sessions.db", os.F_OK)

    with_store(tmp_path / "sessions.db", use)


def test_a_file_that_another_process_holds_is_an_error_in_time(tmp_path: Path) -> None:
    async def use(store: SqliteStore) -> None:
        guarded = GuardedStore(store)
        await guarded.put({key(): b"one"}, 60)
        other = sqlite3.connect(tmp_path / "sessions.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        started = asyncio.get_running_loop().time()
        with pytest.raises(StoreUnavailable):
            await guarded.put({key(): b"two"}, 60)
        assert asyncio.get_running_loop().time() - started < 5
        other.execute("ROLLBACK")
        other.close()
        await until(lambda: guarded.state == "available")
        assert await guarded.get(key()) == b"one"
        await guarded.aclose()

    with_store(tmp_path / "sessions.db", use)


def test_a_process_that_was_paused_still_waits_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sessions.db"

    async def use(store: SqliteStore) -> None:
        await store.put({key(): b"one"}, 60)
        with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            clock = itertools.count(0, 10)  # each look at it is ten seconds after the last
            monkeypatch.setattr(sqlite.time, "monotonic", lambda: next(clock))
            threading.Timer(0.01, other.execute, ["ROLLBACK"]).start()
            await store.put({key(): b"two"}, 60)
        assert await store.get(key()) == b"two"

    with_store(path, use)


def test_what_nobody_waits_for_any_more_is_not_written(tmp_path: Path) -> None:
    async def use(store: SqliteStore) -> None:
        await store.put({key(): b"one"}, 60)
        gate = threading.Event()
        blocked = asyncio.get_running_loop().run_in_executor(store._thread, gate.wait)
        late = asyncio.create_task(store.put({key(): b"two"}, 60))
        await asyncio.sleep(0)
        late.cancel()
        await asyncio.sleep(0)
        gate.set()
        await blocked
        assert await store.get(key()) == b"one"

    with_store(tmp_path / "sessions.db", use)


def test_the_event_loop_never_waits_for_the_disk(tmp_path: Path) -> None:
    async def use(store: SqliteStore) -> None:
        await store.ping()
        gate = threading.Event()
        blocked = asyncio.get_running_loop().run_in_executor(store._thread, gate.wait)
        reading = asyncio.create_task(store.get(key()))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not reading.done()
        gate.set()
        await blocked
        assert await reading is None

    with_store(tmp_path / "sessions.db", use)


# What has expired.


def rows(path: Path, table: str = "documents") -> int:
    with sqlite3.connect(path) as db:
        (number,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    db.close()
    return int(number)


async def until_there_are(path: Path, number: int, table: str = "documents") -> None:
    await until(lambda: rows(path, table) == number)


def test_what_has_expired_is_removed_from_the_file(tmp_path: Path) -> None:
    now = [1000.0]
    path = tmp_path / "sessions.db"

    async def use(store: SqliteStore) -> None:
        await store.put({key(n): bytes(1000) for n in range(500)}, 60)
        await store.put({key(n): bytes(1000) for n in range(500, 600)}, 600)
        claim = await store.claim(key(7), 3600)
        await store.claim(key(9), 1)
        now[0] += 61
        await until_there_are(path, 101)  # the claimed one lives
        await until_there_are(path, 1, "locks")
        assert await store.get(key(7)) == bytes(1000)
        await store.release(claim)
        await until_there_are(path, 100)

    with_store(path, use, clock=lambda: now[0], sweep=0.05)


def test_large_documents_are_removed_a_few_at_a_time(tmp_path: Path) -> None:
    now = [1000.0]

    async def use(store: SqliteStore) -> None:
        await store.put({key(n): bytes(700_000) for n in range(10)}, 60)
        now[0] += 61
        assert await store._do(store._remove_some)
        assert rows(tmp_path / "sessions.db") == 8

    with_store(tmp_path / "sessions.db", use, clock=lambda: now[0], sweep=3600)


def test_the_file_gives_back_what_was_deleted(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"

    async def use(store: SqliteStore) -> None:
        for n in range(60):
            await store.put({key(n): bytes(500_000)}, 600)
            if n >= 10:
                await store.delete(key(n - 10))
        for n in range(50, 58):
            await store.delete(key(n))
        await until(lambda: path.stat().st_size < 1_500_000)
        assert await store.get(key(59)) == bytes(500_000)
        journal = path.with_name("sessions.db-wal").stat().st_size
        assert journal <= 8 << 20

    with_store(path, use, sweep=0.05)


def test_others_are_served_while_much_is_removed(tmp_path: Path) -> None:
    """Each transaction of the sweep is short: a turn waits for one of them, not for all."""
    now = [1000.0]
    path = tmp_path / "sessions.db"

    async def use(store: SqliteStore) -> None:
        await store.put({key(n): bytes(2000) for n in range(1000)}, 60)
        now[0] += 61
        left = []
        for n in range(10):
            claim: Claim = await store.claim(key(9000 + n), 60)
            await store.commit(claim, b"one", 600)
            left.append(rows(path))
            await asyncio.sleep(0.02)
        assert left[-1] > 500  # it was not all removed at once
        await until_there_are(path, 10)

    with_store(path, use, clock=lambda: now[0], sweep=0.01)


def test_why_it_failed_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "sessions.db").mkdir()

    async def use(store: SqliteStore) -> None:
        guarded = GuardedStore(store, retry_every=0.01)
        with caplog.at_level(logging.INFO, "toolwire.sessions"):
            for _ in range(5):
                with pytest.raises(StoreUnavailable, match="does not answer"):
                    await guarded.get(key())
                await asyncio.sleep(0.02)
        await guarded.aclose()

    with_store(tmp_path / "sessions.db", use)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(tmp_path) in caplog.text


# What it costs.


async def steps(store: SqliteStore, work: Callable[[], Coroutine[Any, Any, Any]]) -> int:
    """How many instructions of SQLite's machine something takes, in tens."""
    counted = [0]

    def count() -> None:
        counted[0] += 1

    def watch(handler: Callable[[], None] | None) -> None:
        assert store._connection is not None
        store._connection.set_progress_handler(handler, 10)

    loop = asyncio.get_running_loop()
    await loop.run_in_executor(store._thread, watch, count)
    await work()
    await loop.run_in_executor(store._thread, watch, None)
    return counted[0]


def test_a_turn_costs_the_same_however_many_conversations_there_are(tmp_path: Path) -> None:
    async def use(store: SqliteStore) -> None:
        async def turn() -> None:
            claim = await store.claim(key(77), 60)
            await store.commit(claim, b"one", 60)
            await store.get(key(77))
            await store.list("conversation", "", key(50).id, 20)

        cost = []
        for most in (100, 20_000):
            await store.put({key(n): b"one" for n in range(most)}, 60)
            await turn()
            cost.append(await steps(store, turn))
        assert cost[1] <= cost[0] * 1.1 + 1

    with_store(tmp_path / "sessions.db", use)


def test_counting_reads_no_documents(tmp_path: Path) -> None:
    async def use(store: SqliteStore) -> None:
        await store.ping()

        def plan() -> str:
            assert store._connection is not None
            given = {"kind": "", "owner": "", "now": 0}
            found = store._connection.execute(f"EXPLAIN QUERY PLAN {sql.COUNT}", given)
            return " ".join(row[3] for row in found)

        said = await asyncio.get_running_loop().run_in_executor(store._thread, plan)
        assert "COVERING INDEX documents_by_name" in said

    with_store(tmp_path / "sessions.db", use)


def _hog(path: Path, enough: threading.Event) -> None:
    """Another writer that leaves the file alone for a tenth of the time."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=5)) as db:
        while not enough.is_set():
            db.execute("BEGIN IMMEDIATE")
            time.sleep(0.004)
            db.execute("COMMIT")
            time.sleep(0.0004)


def test_a_process_that_always_writes_does_not_keep_others_out(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"

    async def use(store: SqliteStore) -> None:
        await store.ping()
        enough = threading.Event()
        hog = threading.Thread(target=_hog, args=(path, enough))
        hog.start()
        try:
            for number in range(80):
                await store.put({key(number): b"x"}, 60)
        finally:
            enough.set()
            hog.join()

    with_store(path, use)
