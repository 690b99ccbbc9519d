"""How one setting is described: its meaning, its range, and where else it can be set."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolwire.server.config import values

KIB, MIB = 1024, 1024 * 1024
DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Option:
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


def seconds(text: str, high: float = DAY, low: float = 0.01) -> Option:
    """A time limit."""
    return Option(text, low, high)
