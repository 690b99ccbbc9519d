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
from toolwire.formats.arguments.python_text import copy_literal
from toolwire.formats.engines.begin import Begin, spaced
from toolwire.formats.engines.json_layout import skip_fence
from toolwire.formats.engines.py_ends import KEY, NAME, SURPLUS, Ends
from toolwire.formats.engines.surplus import pass_surplus
from toolwire.formats.reader import Need, peek, skip_space
from toolwire.formats.turn_state import Opening, TurnState, finish_call, start_call

_SPACE = 256
_MOST_BRACKETS = 2  # before the first call
_NO_MORE = "}"  # returned instead of a key: the braces end here
_BEGIN_KEY = rf"[)*]|{KEY.pattern}{spaced('=')}"
_BEGIN = NAME.pattern + spaced(rf"\({spaced(_BEGIN_KEY)}")
_CODE = spaced(rf"#|{NAME.pattern}{spaced('=')}")


class PyCalls(msgspec.Struct, frozen=True):
    """A list of calls, or, without brackets, one per line.

    `known`: only known tools count, however the call was opened.
    """

    brackets: bool = True
    known: bool = False
    wrappers: tuple[str, ...] = ()
    """Functions that a call may be inside, as in `print(f())`: the model writes code to be run."""
    code: bool = False
    """All of the text is such code, so comments, variables and printing one belong to the calls."""
    suffix: str = ""
    """A method that the model calls, as in `f.call()`, and that is not part of the tool's name."""

    def begins(self, *, bare: bool) -> Begin:
        """`NAME(` and what may follow it, with or without brackets before it, or layout of code."""
        call = spaced(_BEGIN)
        for wrapper in self.wrappers:
            call = rf"(?:{call}|{spaced(re.escape(wrapper))})"
        listed, empty = r"\[" + spaced(r"\[?+" + call), rf"\[{spaced(']')}"
        layout = _CODE if self.code else "(?!)" if self.known else spaced("[#`]")
        anywhere = f"(?:{spaced(listed)}|{spaced(empty)}|{layout}|{call})"
        return Begin(listed if bare else anywhere, "not NAME(KEY=")

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read the calls of lists, or one per line."""
        reader = turn.reader
        fenced = not self.known and (yield from skip_fence(turn))
        # In prose, what looks like a comment may be a heading.
        skip = skip_space if self.known and not self.code else skip_blank
        char = yield from skip(reader, _SPACE)
        lines, brackets = not self.brackets and char != "[", 0
        while char == "[" and brackets < _MOST_BRACKETS:
            reader.pos += 1
            brackets += 1
            char = yield from skip_blank(reader, _SPACE)
        if char == "]" and brackets == 1 and not opening.strict:
            reader.pos += 1  # an empty list
            turn.settle()
            return True
        if not char:
            return turn.refuse("no call where one should be")
        ends = Ends(turn, lines=lines, free=lines and self.known, fenced=fenced)
        strict, more = opening.strict or self.known, True
        while more:
            if not (yield from self._read_statement(turn, ends, strict=strict)):
                return False
            more = yield from self._more(turn, ends)
        if brackets > 1:
            yield from _pass(turn, "]")
        if fenced:
            yield from skip_fence(turn, closing=True)
            turn.settle()
        return True

    def _more(self, turn: TurnState, ends: Ends) -> Need[bool]:
        """Whether another call follows. Tolerates a missing bracket, and some too many."""
        reader = turn.reader
        char = yield from ends.pass_blank(reader)
        if char in SURPLUS:
            ahead = yield from ends.surplus(reader)  # which moves `pos` as it waits
            reader.pos += ahead
            char = yield from ends.pass_blank(reader)
        while char in (",", ";"):
            reader.pos += 1
            char = yield from ends.pass_blank(reader)
        if char == "]":
            reader.pos += 1
            turn.settle()
            return (yield from self._next_list(turn, ends))
        if not char:
            turn.settle()  # a separator that the text ends with is no text
            return False
        if not (char.isalpha() or char == "_"):
            return False
        marker, _ = yield from turn.stop.at(reader)
        return not marker

    def _next_list(self, turn: TurnState, ends: Ends) -> Need[bool]:
        """Whether another list of calls follows the one that has ended."""
        if ahead := (yield from ends.next_list(turn.reader)):
            turn.reader.pos += ahead
            return True
        yield from pass_surplus(turn, fenced=ends.fenced)
        return False

    def _read_statement(self, turn: TurnState, ends: Ends, *, strict: bool) -> Need[bool]:
        """Read one call, or those inside a wrapper."""
        written = yield from self._read_name(turn)
        if written in self.wrappers and not turn.tools.known(written):
            return (yield from self._read_wrapped(turn, ends.wrapped(), strict=strict))
        return bool(written) and (yield from self._read_call(turn, ends, written, strict=strict))

    def _read_name(self, turn: TurnState) -> Need[str]:
        """Read `NAME(`, in code also with a variable, as in `x = NAME(`; "" if it is not there."""
        reader = turn.reader
        written = yield from _word(turn, NAME)
        char = yield from skip_blank(reader, _SPACE)
        if written and char == "=" and self.code:
            reader.pos += 1
            yield from skip_blank(reader, _SPACE)
            written = yield from _word(turn, NAME)
            char = yield from skip_blank(reader, _SPACE)
        if not written or char != "(":
            turn.refuse("not NAME(")
            return ""
        reader.pos += 1
        return written

    def _read_wrapped(self, turn: TurnState, ends: Ends, *, strict: bool) -> Need[bool]:
        """Read the calls inside a wrapper, perhaps in a list. Its brackets may be missing."""
        reader, closers, char = turn.reader, ")", ","
        if (yield from skip_blank(reader, _SPACE)) == "[":
            reader.pos += 1
            yield from skip_blank(reader, _SPACE)
            closers = "])"
        while char == ",":
            written = yield from self._read_name(turn)
            if not written:
                printed = self.code and turn.sink.calls > 0  # the result of an earlier call
                return printed and (yield from _pass(turn, ")"))
            if not (yield from self._read_call(turn, ends, written, strict=strict)):
                return False
            char = yield from skip_blank(reader, _SPACE)
            if char == ",":
                reader.pos += 1
                following = yield from skip_blank(reader, _SPACE)
                char = following if following in closers else char
        for closer in closers:
            yield from _pass(turn, closer)
        return True

    def _read_call(self, turn: TurnState, ends: Ends, written: str, *, strict: bool) -> Need[bool]:
        """Read one call, from after its `(`."""
        name = turn.tools.resolve(written.removesuffix(self.suffix) if self.suffix else written)
        if strict and not turn.tools.allows(name):
            return turn.refuse(f"{name[:80]!r} is not a known tool")
        keys = _Keys(turn)
        key = yield from keys.first()
        ended = key == "" and not (yield from ends.call(turn.reader, 1))
        if key is None or ended or (yield from peek(turn.reader, 3)) == "...":
            return turn.refuse("not NAME(KEY=")
        start_call(turn, name)
        turn.sink.args("{")
        complete = yield from _copy_arguments(turn, keys, key, ends)
        return (yield from finish_call(turn, ok=complete, why="the arguments are not literals"))


def _pass(turn: TurnState, bracket: str) -> Need[bool]:
    """Pass a closing bracket, which may be missing. Whether it was there."""
    found = (yield from skip_blank(turn.reader, _SPACE)) == bracket
    if found:
        turn.reader.pos += 1
        turn.settle()
    return found


def _copy_arguments(turn: TurnState, keys: "_Keys", key: str, ends: Ends) -> Need[bool]:
    """Copy the arguments, from after the first key; "" means that there are none."""
    put = turn.sink.args
    separator = ""
    while key:
        put(f"{separator}{key}: ")
        ends.quoted = False
        if not (yield from copy_literal(turn.reader, put, None if keys.braced else ends.string)):
            return False
        separator = ", "
        following = yield from keys.following()
        if following is None:
            closed = not keys.braced and (yield from ends.unclosed(turn.reader))
            put("}" if closed else "")
            return closed
        key = following
    if not (yield from ends.call(turn.reader, 1)):
        return False
    turn.reader.pos += 1
    put("}")
    return True


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
        key = yield from _word(self._turn, KEY)
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
