"""Several processes on one store, and what is left when they are killed in mid-write."""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from toolwire.sessions.base import Key
from toolwire.sessions.open import open_store

WRITER = Path(__file__).with_name("writer.py")
CONVERSATIONS = 3
KILLS = 30 if os.environ.get("TOOLWIRE_SIZE") == "full" else 6


class Writer:
    """A process that commits turns until it is killed."""

    def __init__(self, address: str, log: Path, owner: str = "alice") -> None:
        self._log = log
        with log.open("wb") as out:
            command = [sys.executable, str(WRITER), address, owner, str(CONVERSATIONS)]
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE)

    def wait_for(self, lines: int) -> None:
        """Wait until it has confirmed so many commits."""
        deadline = time.monotonic() + 60
        while len(self.confirmed()) < lines:
            assert self.process.poll() is None, self.process.communicate()[1].decode()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def wait_for_all(self) -> None:
        """Wait until it has written to every conversation."""
        lines = 1
        while len({name for name, _ in self.confirmed()}) < CONVERSATIONS:
            self.wait_for(lines)
            lines = len(self.confirmed()) + 1

    def confirmed(self) -> list[tuple[str, int]]:
        """Every commit that it has confirmed: the conversation, and its count then."""
        lines = self._log.read_text().splitlines(keepends=True)
        pairs = [line.split() for line in lines if line.endswith("\n")]
        return [(name, int(count)) for name, count in pairs]

    def kill(self) -> None:
        """End it at once."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


def stored(address: str, owner: str = "alice") -> dict[str, int]:
    """The count of every conversation, once nobody holds it."""

    async def read() -> dict[str, int]:
        store = open_store(address)
        assert store is not None
        entries = await store.list("conversation", owner, "", 100)
        values = {e.id: await store.get(Key("conversation", owner, e.id)) for e in entries}
        await store.aclose()
        return {name: int(value or b"0") for name, value in values.items()}

    return asyncio.run(read())


def test_processes_that_write_the_same_conversations_lose_nothing(
    address: str, tmp_path: Path
) -> None:
    writers = [Writer(address, tmp_path / f"{n}.log") for n in range(3)]
    try:
        for writer in writers:
            writer.wait_for(30)
    finally:
        for writer in writers:
            writer.kill()
    seen = Counter(pair for writer in writers for pair in writer.confirmed())
    assert set(seen.values()) == {1}, "two processes committed the same turn"
    for name, count in stored(address).items():
        missing = set(range(1, count + 1)) - {n for each, n in seen if each == name}
        assert len(missing) <= len(writers), "only the last of each may be unconfirmed"


def test_a_process_that_is_killed_leaves_whole_conversations(address: str, tmp_path: Path) -> None:
    total = 0
    for kill in range(KILLS):
        writer = Writer(address, tmp_path / f"{kill}.log")
        try:
            writer.wait_for(5)
            time.sleep(random.random() / 50)
        finally:
            writer.kill()
        total += len(writer.confirmed())
        last = dict(writer.confirmed())
        now = stored(address)
        for name, count in last.items():
            assert count <= now[name] <= count + 1
        assert total <= sum(now.values()) <= total + kill + 1
    if address.startswith("sqlite:"):
        db = sqlite3.connect(address.removeprefix("sqlite:"))
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.close()


def test_a_conversation_that_a_killed_process_held_is_free_again(
    address: str, tmp_path: Path
) -> None:
    for kill in range(3):
        writer = Writer(address, tmp_path / f"{kill}.log")
        writer.wait_for(3)
        writer.kill()
    writer = Writer(address, tmp_path / "last.log")
    try:
        writer.wait_for_all()
    finally:
        writer.kill()


def test_processes_that_begin_at_once_make_one_file(tmp_path: Path) -> None:
    address = f"sqlite:{tmp_path / 'new' / 'sessions.db'}"
    writers = [Writer(address, tmp_path / f"{n}.log", owner=str(n)) for n in range(4)]
    try:
        for writer in writers:
            writer.wait_for(3)
    finally:
        for writer in writers:
            writer.kill()
    for n, writer in enumerate(writers):
        assert sum(stored(address, str(n)).values()) - len(writer.confirmed()) in (0, 1)
