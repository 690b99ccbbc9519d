"""Family C: calls written as Python expressions, `[f(a=1), g()]`.

A call is taken for one only from `NAME(` followed by `)` or `KEY=` on, so that lists and links in
prose stay prose. Values are literals; nothing is evaluated.
"""

import re
from dataclasses import dataclass

from toolwire.formats import values
from toolwire.formats.python_text import copy_literal
from toolwire.formats.reader import Need, skip_space
from toolwire.formats.turn import Opening, Turn, finish_call, start_call

_SPACE = 256
_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,127}+")
_KEY = re.compile(r"[^\W\d][\w\-]{0,127}+")


@dataclass(frozen=True, slots=True)
class PyCalls:
    """A list of calls, or, without brackets, one per line."""

    brackets: bool = True

    def read(self, turn: Turn, opening: Opening) -> Need[bool]:
        """Read the calls of a list or of some lines."""
        reader = turn.reader
        char = yield from skip_space(reader, _SPACE)
        if char == "[":
            reader.pos += 1
            char = yield from skip_space(reader, _SPACE)
        first = True
        while not first or char:
            if not (yield from self._read_call(turn, strict=opening.strict)):
                return False
            first = False
            if not (yield from self._more(turn)):
                return True
        return turn.refuse("no call where one should be")

    def _more(self, turn: Turn) -> Need[bool]:
        """Behind a call: whether another follows. A missing bracket is forgiven."""
        reader = turn.reader
        char = yield from skip_space(reader, _SPACE)
        while char in (",", ";"):
            reader.pos += 1
            char = yield from skip_space(reader, _SPACE)
        if char == "]":
            reader.pos += 1
            turn.settle()
            return False
        if self.brackets:
            return char.isalpha() or char == "_"
        marker, _ = yield from turn.stop.at(reader)
        return bool(char) and not marker

    def _read_call(self, turn: Turn, *, strict: bool) -> Need[bool]:
        reader = turn.reader
        written = yield from _word(turn, _NAME)
        if not written or (yield from skip_space(reader, _SPACE)) != "(":
            return turn.refuse("not NAME(")
        name = turn.tools.resolve(written)
        if strict and not turn.tools.allows(name):
            return turn.refuse(f"{name[:80]!r} is not a known tool")
        reader.pos += 1
        char = yield from skip_space(reader, _SPACE)
        key = "" if char == ")" else (yield from _read_key(turn))
        if key is None:
            return turn.refuse("not NAME(KEY=")
        start_call(turn, name)
        turn.sink.args("{")
        complete = yield from _copy_arguments(turn, key)
        return (yield from finish_call(turn, ok=complete, why="the arguments are not literals"))


def _copy_arguments(turn: Turn, key: str) -> Need[bool]:
    """`KEY=value, ...)` from behind the first `KEY=`; "" means that there are none."""
    reader, put = turn.reader, turn.sink.args
    separator = ""
    while key:
        put(f"{separator}{values.quote(key)}: ")
        if not (yield from copy_literal(reader, put)):
            return False
        separator = ", "
        char = yield from skip_space(reader, _SPACE)
        if char == ",":
            reader.pos += 1
            char = yield from skip_space(reader, _SPACE)
        elif char != ")":
            return False
        if char == ")":
            break
        following = yield from _read_key(turn)
        if following is None:
            return False
        key = following
    reader.pos += 1
    put("}")
    return True


def _read_key(turn: Turn) -> Need[str | None]:
    key = yield from _word(turn, _KEY)
    if not key or (yield from skip_space(turn.reader, _SPACE)) != "=":
        return None
    turn.reader.pos += 1
    return key


def _word(turn: Turn, pattern: re.Pattern[str]) -> Need[str]:
    """The word at the reader's position, complete and taken; "" if there is none."""
    reader = turn.reader
    while True:
        match = pattern.match(reader.buf, reader.pos)
        end = match.end() if match else reader.pos
        if end < len(reader.buf) or reader.final:
            reader.pos = end
            return match.group() if match else ""
        yield
