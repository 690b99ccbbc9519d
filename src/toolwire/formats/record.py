"""The record that defines a format. The catalogue is a table of these."""

from collections.abc import Hashable
from typing import Literal, Protocol, TypeAlias

import msgspec

from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need
from toolwire.formats.rendering.writing import PLAIN_RESULTS, Results, Writing
from toolwire.formats.tools.declared_tools import DeclaredTools
from toolwire.formats.turn_state import FormatEngine, TurnState

IdPolicy: TypeAlias = Literal["random", "mistral9", "kimi", "wire"]
ID_FORMS: dict[IdPolicy, str] = {
    "random": "{number}",
    "wire": "{number}",
    "mistral9": "{number:09d}",
    "kimi": "functions.{name}:{number}",
}
"""The id of call `number` of a conversation in a prompt, by the policy of its format."""


class Framer(Protocol):
    """Reads one turn, and passes calls to an engine."""

    def run(self) -> Need[None]: ...


class Framing(Hashable, Protocol):
    """How a format separates calls from text."""

    def framer(self, turn: TurnState, engine: FormatEngine) -> Framer: ...

    def stop(self) -> Lexer: ...

    def for_tools(self, tools: DeclaredTools) -> "Framing": ...

    def markers(self) -> tuple[str, ...]: ...

    def hold_limit(self) -> int: ...


class Format(msgspec.Struct, frozen=True, kw_only=True, eq=False):
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
    """Texts that hint at this format in a chat template, for lack of better evidence."""
    signs: tuple[tuple[str, ...], ...] = ()
    """Groups of texts that identify its chat templates. All texts of a group must occur."""
    special_tokens: tuple[str, ...] = ()
    ids: IdPolicy = "random"
    note: str = ""
