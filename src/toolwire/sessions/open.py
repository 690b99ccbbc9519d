"""Opens the store that the configuration names. Nothing is connected or created before it is used.

Redis's library takes a while to load, so that it is loaded only if it is used.
"""

import os
from pathlib import Path

from toolwire.sessions.base import Store
from toolwire.sessions.guard import GuardedStore
from toolwire.sessions.memory import MemoryStore
from toolwire.sessions.sqlite import SqliteStore

_SQLITE = "sqlite:"


def open_store(address: str) -> GuardedStore | None:
    """The store at an address: `sqlite:PATH`, `redis://...`, `memory`; None for `off`."""
    return None if address == "off" else GuardedStore(_store(address))


def default_path() -> Path:
    """The file in the user's state folder: below XDG_STATE_HOME, or below ~/.local/state."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
    return folder / "toolwire" / "sessions.db"


def _store(address: str) -> Store:
    if address == "memory":
        return MemoryStore()
    if address.startswith(_SQLITE):
        path = address.removeprefix(_SQLITE)
        return SqliteStore(Path(path) if path else default_path())
    from toolwire.sessions.redis import RedisStore  # noqa: PLC0415

    return RedisStore(address)
