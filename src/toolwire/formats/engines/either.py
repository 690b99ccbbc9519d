"""Two engines behind one opener. The first characters decide which one reads."""

import re

import msgspec

from toolwire.formats.engines.begin import ANYTHING, Begin
from toolwire.formats.reader import Need
from toolwire.formats.turn_state import FormatEngine, Opening, TurnState

_JSON = re.compile(r"\s{0,20}+(?:`{3}\w{0,16}+\s{0,20}+)?+(?:\{|\[\s{0,20}+[{\]])")
_JSON_BEGUN = re.compile(r"\s{0,20}+(?:`{3}\w{0,16}+\s{0,20}+)?+(?:`{1,2}+|\[?+\s{0,20}+)")


class Either(msgspec.Struct, frozen=True):
    """`first` reads if the text matches `looks`, otherwise `second`.

    `looks` must match at the start of every text that `first` can read. If `prefix` matches the
    whole buffer, the engine waits, because the buffer may still become such a text.
    """

    looks: re.Pattern[str]
    prefix: re.Pattern[str]
    first: FormatEngine
    second: FormatEngine

    def begins(self, *, bare: bool) -> Begin:
        """The beginnings that either engine can read."""
        first, second = self.first.begins(bare=bare), self.second.begins(bare=bare)
        if not first.pattern or not second.pattern:
            return ANYTHING
        looks = rf"(?={self.looks.pattern}|{self.prefix.pattern}\Z)"
        pattern = f"(?:{looks}{first.pattern}|{second.pattern})"
        return Begin(pattern, f"{first.why}, {second.why}")

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Look ahead, then read."""
        reader = turn.reader
        while not self.looks.match(reader.buf, reader.pos):
            if reader.final or not self.prefix.fullmatch(reader.buf, reader.pos):
                engine = self.second
                break
            yield
        else:
            engine = self.first
        return (yield from engine.read(turn, opening))


def json_or(second: FormatEngine, first: FormatEngine) -> Either:
    """JSON objects, alone or in a possibly empty array, perhaps in a code fence, or another
    syntax."""
    return Either(_JSON, _JSON_BEGUN, first, second)
