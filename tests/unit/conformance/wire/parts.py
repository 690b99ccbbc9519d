"""What a model says in one turn, as values: text, reasoning and calls in order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Text:
    """Words for the user."""

    text: str


@dataclass(frozen=True)
class Think:
    """Words the model says to itself."""

    text: str


@dataclass(frozen=True)
class Call:
    """One call."""

    name: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Calls:
    """Calls that follow each other directly."""

    calls: tuple[Call, ...]


Part: TypeAlias = Text | Think | Calls
Turn: TypeAlias = tuple[Part, ...]
WriteCall: TypeAlias = Callable[[int, Call], str]


def content_of(turn: Turn) -> str | None:
    """All the words for the user."""
    return "".join(part.text for part in turn if isinstance(part, Text)) or None


def reasoning_of(turn: Turn) -> str | None:
    """All the words the model says to itself."""
    return "".join(part.text for part in turn if isinstance(part, Think)) or None


def calls_of(turn: Turn) -> list[Call]:
    """All the calls."""
    return [call for part in turn if isinstance(part, Calls) for call in part.calls]
