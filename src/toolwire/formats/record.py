"""What a format is: one small record. The catalogue is a table of these."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from toolwire.formats.declared_tools import DeclaredTools
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need
from toolwire.formats.turn_state import FormatEngine, TurnState
from toolwire.formats.writing import PLAIN_RESULTS, Results, Writing

IdPolicy: TypeAlias = Literal["random", "mistral9", "kimi", "wire"]


class Framer(Protocol):
    """Reads one turn, handing what is a call to an engine."""

    def run(self) -> Need[None]: ...


class Framing(Protocol):
    """How a format tells calls from text."""

    def framer(self, turn: TurnState, engine: FormatEngine, *, starts_inside: bool) -> Framer: ...

    def stop(self) -> Lexer: ...

    def for_tools(self, tools: DeclaredTools) -> "Framing": ...

    def markers(self) -> tuple[str, ...]: ...

    def hold_limit(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Format:
    """A tool-call syntax: how it is framed and read, and which models write it."""

    name: str
    framing: Framing
    engine: FormatEngine
    writing: Writing
    results: Results = PLAIN_RESULTS
    family: str
    aliases: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    template: tuple[str, ...] = ()
    """By what the chat templates of its models may be known, where its calls have no tags and
    nothing else is certain."""
    signs: tuple[tuple[str, ...], ...] = ()
    """What tells the chat templates of its models from all others: all texts of one of these."""
    special_tokens: tuple[str, ...] = ()
    ids: IdPolicy = "random"
    starts_inside: bool = False
    note: str = ""
