"""Which store an address names, and that none is connected before it is used."""

import os
from pathlib import Path

import pytest

from toolwire.sessions.memory import MemoryStore
from toolwire.sessions.open import default_path, open_store
from toolwire.sessions.redis import RedisStore
from toolwire.sessions.sqlite import SqliteStore


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("memory", MemoryStore),
        ("sqlite:", SqliteStore),
        ("sqlite:/nowhere/at/all.db", SqliteStore),
        ("redis://127.0.0.1:1/0", RedisStore),
        ("rediss://:secret@127.0.0.1:1/0", RedisStore),
    ],
)
def test_an_address_names_a_store(address: str, kind: type) -> None:
    store = open_store(address)
    assert store is not None
    assert isinstance(store._store, kind)
    assert store.state == "unused"


def test_there_may_be_no_store() -> None:
    assert open_store("off") is None


def test_the_file_is_in_the_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path))
    assert default_path() == tmp_path / "toolwire" / "sessions.db"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_path() == Path("/home/somebody/.local/state/toolwire/sessions.db")
    assert list(tmp_path.iterdir()) == []
