"""A message whose whole body is the text of one argument. The header names the tool.

The text is not escaped, and it is not parsed even if it looks like JSON.
"""

import msgspec

from toolwire.formats.arguments import values
from toolwire.formats.arguments.json_text import escape
from toolwire.formats.engines.begin import ANYTHING, Begin
from toolwire.formats.reader import Need
from toolwire.formats.tools.declared_tools import DeclaredTools
from toolwire.formats.turn_state import (
    FormatEngine,
    Opening,
    TurnState,
    copy_rest,
    finish_call,
    start_call,
)


class RawBody(msgspec.Struct, frozen=True):
    """The text of the tool's required argument, else of its first declared one, else of `key`.

    `key` is what the model's own tools call it.
    """

    key: str = "input"

    def begins(self, *, bare: bool) -> Begin:  # noqa: ARG002  # it is all the same
        """Anything."""
        return ANYTHING

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read the message to its end."""
        name = turn.tools.resolve(opening.name)
        start_call(turn, name)
        turn.sink.args(f'{{{values.quote(self._key(turn.tools, name))}: "')
        yield from copy_rest(turn, escape)
        turn.sink.args('"}')
        return (yield from finish_call(turn, ok=True))

    def _key(self, tools: DeclaredTools, name: str) -> str:
        declared, required = tools.properties(name), tools.required(name)
        demanded = (key for key in declared if key in required)
        return next(demanded, next(iter(declared), self.key))


class NamedOr(msgspec.Struct, frozen=True):
    """`named` reads the message if its header has a name, otherwise `other`.

    For formats that have a second kind of call, which only its header tells apart.
    """

    named: FormatEngine
    other: FormatEngine

    def begins(self, *, bare: bool) -> Begin:  # noqa: ARG002  # it is all the same
        """Anything, if the header has a name."""
        return ANYTHING

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read with one of the two engines."""
        engine = self.named if opening.name else self.other
        return (yield from engine.read(turn, opening))
