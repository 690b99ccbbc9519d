"""Family C: calls written as Python expressions, `[f(a=1), g()]`.

A call must begin with `NAME(` followed by `)`, `KEY=` or `**{KEY:`, so that lists and links in
prose stay prose. Its `)` must be followed by something that can follow a call. Values are literals;
nothing is evaluated. A quote ends a string argument only if the next argument or the end of the
call follows, so unescaped quotes inside the string do not end it.
"""

import re

import msgspec

from toolwire.formats.arguments import scalars, values
from toolwire.formats.arguments.json_text import skip_blank
from toolwire.formats.arguments.python_text import copy_literal, look_past_blank
from toolwire.formats.engines.begin import Begin, spaced
from toolwire.formats.engines.surplus import pass_surplus
from toolwire.formats.reader import Need, Reader, skip_space
from toolwire.formats.turn_state import Opening, TurnState, finish_call, start_call

_SPACE = 256
_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,127}+")
_KEY = re.compile(r"[^\W\d][\w\-]{0,127}+")
_KEY_PREFIX = re.compile(rf"\*{{0,2}}+|{_KEY.pattern}\s{{0,64}}+")
_NEXT_KEY = re.compile(rf"\)|\*\*|{_KEY.pattern}\s{{0,64}}+=(?!=)|\Z")
_AFTER_CALL = ",;]"
_NO_MORE = "}"  # returned instead of a key: the braces end here
_BEGIN_KEY = rf"[)*]|{_KEY.pattern}{spaced('=')}"
_BEGIN = _NAME.pattern + spaced(rf"\({spaced(_BEGIN_KEY)}")


class PyCalls(msgspec.Struct, frozen=True):
    """A list of calls, or, without brackets, one per line.

    `known`: only known tools count, however the call was opened.
    """

    brackets: bool = True
    known: bool = False
    wrappers: tuple[str, ...] = ()
    """Functions that a call may be inside, as in `print(f())`: the model writes code to be run."""
    suffix: str = ""
    """A method that the model calls, as in `f.call()`, and that is not part of the tool's name."""

    def begins(self, *, bare: bool) -> Begin:
        """`NAME(` and what may follow it, with or without a leading bracket, or a comment."""
        call = spaced(_BEGIN)
        for wrapper in self.wrappers:
            call = rf"(?:{call}|{spaced(re.escape(wrapper))})"
        listed, empty = rf"\[{call}", rf"\[{spaced(']')}"
        comment = "(?!)" if self.known else spaced("#")
        anywhere = f"(?:{spaced(listed)}|{spaced(empty)}|{comment}|{call})"
        return Begin(listed if bare else anywhere, "not NAME(KEY=")

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read the calls of a list, or one per line."""
        reader = turn.reader
        # In prose, what looks like a comment may be a heading.
        skip = skip_space if self.known else skip_blank
        char = yield from skip(reader, _SPACE)
        lines = not self.brackets and char != "["
        ends = _Ends(turn, lines=lines, free=lines and self.known)
        if char == "[":
            reader.pos += 1
            char = yield from skip_blank(reader, _SPACE)
        if char == "]" and not opening.strict:
            reader.pos += 1  # an empty list
            turn.settle()
            return True
        first = True
        while not first or char:
            strict = opening.strict or self.known
            if not (yield from self._read_call(turn, ends, strict=strict)):
                return False
            first = False
            if not (yield from self._more(turn)):
                return True
        return turn.refuse("no call where one should be")

    def _more(self, turn: TurnState) -> Need[bool]:
        """Whether another call follows. Tolerates a missing bracket."""
        reader = turn.reader
        char = yield from skip_blank(reader, _SPACE)
        while char in (",", ";"):
            reader.pos += 1
            char = yield from skip_blank(reader, _SPACE)
        if char == "]":
            reader.pos += 1
            turn.settle()
            yield from pass_surplus(turn, fenced=False)
            return False
        if not char:
            turn.settle()  # a separator that the text ends with is no text
            return False
        if not (char.isalpha() or char == "_"):
            return False
        marker, _ = yield from turn.stop.at(reader)
        return not marker

    def _read_call(self, turn: TurnState, ends: "_Ends", *, strict: bool) -> Need[bool]:
        reader = turn.reader
        written = yield from _word(turn, _NAME)
        if not written or (yield from skip_blank(reader, _SPACE)) != "(":
            return turn.refuse("not NAME(")
        if written in self.wrappers and not turn.tools.known(written):
            reader.pos += 1
            yield from skip_blank(reader, _SPACE)
            inner = yield from self._read_call(turn, ends.wrapped(), strict=strict)
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
        complete = yield from _copy_arguments(turn, keys, key, ends)
        return (yield from finish_call(turn, ok=complete, why="the arguments are not literals"))

    def _pass_bracket(self, turn: TurnState) -> Need[bool]:
        """Pass the bracket of a wrapper, which may be missing."""
        if (yield from skip_blank(turn.reader, _SPACE)) == ")":
            turn.reader.pos += 1
            turn.settle()
        return True


def _copy_arguments(turn: TurnState, keys: "_Keys", key: str, ends: "_Ends") -> Need[bool]:
    """Copy the arguments, from after the first key; "" means that there are none."""
    put = turn.sink.args
    separator = ""
    while key:
        put(f"{separator}{key}: ")
        if not (yield from copy_literal(turn.reader, put, None if keys.braced else ends.string)):
            return False
        separator = ", "
        following = yield from keys.following()
        if following is None:
            return False
        key = following
    if not (yield from ends.call(turn.reader, 1)):
        return False
    turn.reader.pos += 1
    put("}")
    return True


class _Ends:
    """Decides where a string argument ends, and where a call ends.

    With `lines` a call ends where the next begins. A `free` call is in prose, so anything may
    follow it except what could continue a string.
    """

    __slots__ = ("_after", "_free", "_lines", "_turn")

    def __init__(
        self, turn: TurnState, *, lines: bool, free: bool, after: str = _AFTER_CALL
    ) -> None:
        self._turn = turn
        self._lines = lines
        self._free = free
        self._after = after

    def wrapped(self) -> "_Ends":
        """Return the same rules for a call inside the brackets of another."""
        return _Ends(self._turn, lines=self._lines, free=self._free, after=_AFTER_CALL + ")")

    def string(self, reader: Reader, ahead: int) -> Need[bool]:
        """Whether the next argument, or the end of the call, is there."""
        ahead = yield from look_past_blank(reader, ahead)
        char = reader.buf[reader.pos + ahead : reader.pos + ahead + 1]
        if char == ")":
            return (yield from self.call(reader, ahead + 1, reader.buf[reader.pos]))
        if char != ",":
            return not char
        ahead = yield from look_past_blank(reader, ahead + 1)
        while _KEY_PREFIX.fullmatch(reader.buf, reader.pos + ahead):
            if reader.final:
                return True  # the text is truncated inside the next key
            yield
        return _NEXT_KEY.match(reader.buf, reader.pos + ahead) is not None

    def call(self, reader: Reader, ahead: int, quote: str = "") -> Need[bool]:
        """Whether the text after the `)` can follow a call, without another `quote`."""
        after, ahead = ahead, (yield from look_past_blank(reader, ahead, quote))
        char = reader.buf[reader.pos + ahead : reader.pos + ahead + 1]
        if self._free and char not in (")", quote or ")"):
            return True
        if char in self._after or (self._lines and (char.isalpha() or char == "_")):
            return True
        if "\n" in reader.buf[reader.pos + after : reader.pos + ahead] and (
            yield from self._tool(reader, ahead)
        ):
            return True
        stop = self._turn.stop
        marker, _ = yield from stop.at(reader, ahead)
        return bool(marker) or (reader.final and stop.begun(reader, ahead))

    def _tool(self, reader: Reader, ahead: int) -> Need[bool]:
        """Whether a call of a declared tool is there, although a comma is missing. It may be cut
        off in its name."""
        tools = self._turn.tools
        while True:
            match = _NAME.match(reader.buf, reader.pos + ahead)
            if match is None or match.end() < len(reader.buf) or reader.final:
                break
            yield
        if match is None:
            return False
        if match.end() == len(reader.buf):
            return any(name.startswith(match.group()) for name in tools.names())
        return reader.buf[match.end()] == "(" and tools.known(tools.resolve(match.group()))


class _Keys:
    """Reads the keys of arguments as JSON: `KEY=`, or `"KEY":` within `**{...}`.

    "" means the closing bracket, None anything else.
    """

    def __init__(self, turn: TurnState) -> None:
        self._turn = turn
        self._reader = turn.reader
        self.braced = False

    def first(self) -> Need[str | None]:
        """Read the first key, if there are arguments."""
        key = yield from self._key((yield from self._next()))
        return (yield from self.following()) if key == _NO_MORE else key

    def following(self) -> Need[str | None]:
        """Read the key after a value."""
        key: str | None = _NO_MORE
        while key == _NO_MORE:
            char = yield from self._next()
            if self.braced and char == "}":
                self.braced = False
                char = yield from self._next(taken=1)
            if char != ",":
                return "" if char == ")" and not self.braced else None
            key = yield from self._key((yield from self._next(taken=1)))
        return key

    def _next(self, taken: int = 0) -> Need[str]:
        self._reader.pos += taken
        return (yield from skip_blank(self._reader, _SPACE))

    def _key(self, char: str) -> Need[str | None]:
        if self.braced and char == "}":  # a trailing comma, or no members
            return _NO_MORE
        if self.braced:
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
        self.braced = True
        return (yield from self._key((yield from self._next())))

    def _quoted(self) -> Need[str | None]:
        pieces: list[str] = []
        copied = yield from scalars.copy_python_string(self._reader, pieces.append)
        if not copied or (yield from self._next()) != ":":
            return None
        self._reader.pos += 1
        return "".join(pieces)


def _word(turn: TurnState, pattern: re.Pattern[str]) -> Need[str]:
    """Consume the complete word at the reader's position; "" if there is none."""
    reader = turn.reader
    while True:
        match = pattern.match(reader.buf, reader.pos)
        end = match.end() if match else reader.pos
        if end < len(reader.buf) or reader.final:
            reader.pos = end
            return match.group() if match else ""
        yield
