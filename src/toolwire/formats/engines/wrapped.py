"""An engine inside additional structure, for messages whose body has sections and openers."""

from functools import lru_cache

import msgspec

from toolwire.formats.engines.begin import Begin, spaced
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, skip_space
from toolwire.formats.turn_state import FormatEngine, Opening, TurnState

_SPACE = 256


class Wrapped(msgspec.Struct, frozen=True, eq=False):
    """`opens` precede a call that `inner` reads; `around` is structure without meaning."""

    opens: tuple[str, ...]
    around: tuple[str, ...]
    inner: FormatEngine

    def begins(self, *, bare: bool) -> Begin:  # noqa: ARG002  # no format has it bare
        """Any part of the structure."""
        return Begin(spaced(_lexer(self).ahead), "no tag of a call")

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read all calls of the body. The name in the header is only a hint."""
        lexer, before = _lexer(self), turn.sink.calls
        while True:
            yield from skip_space(turn.reader, _SPACE)
            marker, size = yield from lexer.at(turn.reader)
            if not marker:
                break
            turn.reader.pos += size
            if lexer.kinds[marker] == "open":
                if not (yield from self.inner.read(turn, Opening(opening.strict))):
                    return False
            elif turn.sink.calls > before:
                turn.settle()
        return turn.sink.calls > before or turn.refuse("no call in a message to a tool")


@lru_cache(maxsize=8)
def _lexer(engine: Wrapped) -> Lexer:
    return Lexer(dict.fromkeys(engine.around, "around") | dict.fromkeys(engine.opens, "open"))
