"""Family C: calls written as Python expressions, `[f(a=1), g()]`.

A call is taken for one only from `NAME(` followed by `)`, `KEY=` or `**{KEY:` on, so that lists and
links in prose stay prose. Values are literals; nothing is evaluated.
"""

import re
from dataclasses import dataclass

from toolwire.formats import scalars, values
from toolwire.formats.begin import Begin, spaced
from toolwire.formats.python_text import copy_literal
from toolwire.formats.reader import Need, skip_space
from toolwire.formats.turn import Opening, Turn, finish_call, start_call

_SPACE = 256
_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,127}+")
_KEY = re.compile(r"[^\W\d][\w\-]{0,127}+")
_NO_MORE = "}"  # in place of a key: the braces end here
_BEGIN_KEY = rf"[)*]|{_KEY.pattern}{spaced('=')}"
_BEGIN = _NAME.pattern + spaced(rf"\({spaced(_BEGIN_KEY)}")


@dataclass(frozen=True, slots=True)
class PyCalls:
    """A list of calls, or, without brackets, one per line.

    `known`: only a known tool is called, however the call was opened. A call may stand in one of
    `wrappers`, as in `print(f())`, and a `suffix` of the name be no part of it.
    """

    brackets: bool = True
    known: bool = False
    wrappers: tuple[str, ...] = ()
    suffix: str = ""

    def begins(self, *, bare: bool) -> Begin:
        """`NAME(` and what may follow it, with or without a bracket before it."""
        call = spaced(_BEGIN)
        for wrapper in self.wrappers:
            call = rf"(?:{call}|{spaced(re.escape(wrapper))})"
        listed = rf"\[{call}"
        return Begin(listed if bare else f"(?:{spaced(listed)}|{call})", "not NAME(KEY=")

    def read(self, turn: Turn, opening: Opening) -> Need[bool]:
        """Read the calls of a list or of some lines."""
        reader = turn.reader
        char = yield from skip_space(reader, _SPACE)
        if char == "[":
            reader.pos += 1
            char = yield from skip_space(reader, _SPACE)
        first = True
        while not first or char:
            if not (yield from self._read_call(turn, strict=opening.strict or self.known)):
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
        if written in self.wrappers:
            reader.pos += 1
            yield from skip_space(reader, _SPACE)
            inner = yield from self._read_call(turn, strict=strict)
            return inner and (yield from self._pass_bracket(turn))
        name = turn.tools.resolve(written.removesuffix(self.suffix) if self.suffix else written)
        if strict and not turn.tools.allows(name):
            return turn.refuse(f"{name[:80]!r} is not a known tool")
        reader.pos += 1
        keys = _Keys(turn)
        key = yield from keys.first()
        if key is None:
            return turn.refuse("not NAME(KEY=")
        start_call(turn, name)
        turn.sink.args("{")
        complete = yield from _copy_arguments(turn, keys, key)
        return (yield from finish_call(turn, ok=complete, why="the arguments are not literals"))

    def _pass_bracket(self, turn: Turn) -> Need[bool]:
        """Pass the bracket of a wrapper, which may be missing."""
        if (yield from skip_space(turn.reader, _SPACE)) == ")":
            turn.reader.pos += 1
            turn.settle()
        return True


def _copy_arguments(turn: Turn, keys: "_Keys", key: str) -> Need[bool]:
    """The arguments, from behind the first key; "" means that there are none."""
    put = turn.sink.args
    separator = ""
    while key:
        put(f"{separator}{key}: ")
        if not (yield from copy_literal(turn.reader, put)):
            return False
        separator = ", "
        following = yield from keys.following()
        if following is None:
            return False
        key = following
    turn.reader.pos += 1
    put("}")
    return True


class _Keys:
    """Reads the keys of arguments as JSON: `KEY=`, or `"KEY":` within `**{...}`.

    "" stands for the bracket at the end, None for anything else.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._reader = turn.reader
        self._braced = False

    def first(self) -> Need[str | None]:
        """The key that must be there, if anything is."""
        key = yield from self._key((yield from self._next()))
        return (yield from self.following()) if key == _NO_MORE else key

    def following(self) -> Need[str | None]:
        """The key behind a value."""
        key: str | None = _NO_MORE
        while key == _NO_MORE:
            char = yield from self._next()
            if self._braced and char == "}":
                self._braced = False
                char = yield from self._next(taken=1)
            if char != ",":
                return "" if char == ")" and not self._braced else None
            key = yield from self._key((yield from self._next(taken=1)))
        return key

    def _next(self, taken: int = 0) -> Need[str]:
        self._reader.pos += taken
        return (yield from skip_space(self._reader, _SPACE))

    def _key(self, char: str) -> Need[str | None]:
        if self._braced and char == "}":  # a comma behind the last one, or none at all
            return _NO_MORE
        if self._braced:
            return (yield from self._quoted())
        if char == ")":
            return ""
        if char == "*":
            return (yield from self._opened())
        key = yield from _word(self._turn, _KEY)
        if not key or (yield from self._next()) != "=":
            return None
        self._reader.pos += 1
        return values.quote(key)

    def _opened(self) -> Need[str | None]:
        for char in "**{":
            if (yield from self._next()) != char:
                return None
            self._reader.pos += 1
        self._braced = True
        return (yield from self._key((yield from self._next())))

    def _quoted(self) -> Need[str | None]:
        pieces: list[str] = []
        copied = yield from scalars.copy_python_string(self._reader, pieces.append)
        if not copied or (yield from self._next()) != ":":
            return None
        self._reader.pos += 1
        return "".join(pieces)


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
