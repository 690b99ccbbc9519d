"""How one setting is described: its meaning, its range, and where else it can be set."""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from toolwire.server.config import values

KIB, MIB = 1024, 1024 * 1024
DAY = 24 * 3600


class Option(msgspec.Struct, frozen=True):
    """One setting: its meaning, its range, and its flag and environment variable."""

    help: str
    low: float | None = None
    high: float | None = None
    parse: Callable[[Any], Any] | None = None
    show: Callable[[object], str] = values.plain
    env: str = ""
    flag: str = ""
    keys: tuple[str, ...] = ()  # its keys in the file, if they are not the field's name
    aliases: tuple[tuple[str, str], ...] = ()  # other spellings that are accepted


class Discreet(msgspec.Struct, frozen=True):
    """A record whose `repr` leaves out the fields in `_hidden`: they may hold secrets."""

    _hidden: ClassVar[frozenset[str]] = frozenset()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        shown = (name for name in self.__struct_fields__ if name not in self._hidden)
        return [(name, getattr(self, name)) for name in shown]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"


def seconds(text: str, high: float = DAY, low: float = 0.01) -> Option:
    """A time limit."""
    return Option(text, low, high)
