"""Family F: `call:NAME{key:value}`, an object whose keys are bare and whose strings have their own
delimiter instead of quotes and escapes.

Models also write strings in quotes, which are read as Python strings. They also forget the second
delimiter. Then the brackets and the marker that end the call end the string too, unless a matching
delimiter follows shortly after. Or they forget the first one. Then a bare value ends at a delimiter
that cannot begin a string.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache

import msgspec

from toolwire.formats.arguments import scalars, values
from toolwire.formats.arguments.json_text import escape
from toolwire.formats.arguments.schema import NO_SCHEMA, Schema, Types
from toolwire.formats.engines.begin import Begin
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, Reader, peek, skip_space
from toolwire.formats.turn_state import Opening, TurnState, finish_call, start_call

_SPACE = 256
_MAX_DEPTH = 64
_MAX_BARE = 512
_HEAD = re.compile(r"\s{0,9}+(?:call)?+:?+\s{0,9}+([^\s{}()<>:]{1,128}+)\s{0,9}+([{(])")
_HEAD_PREFIX = re.compile(r"\s{0,9}+(?:call|cal|ca|c)?+:?+\s{0,9}+[^\s{}()<>:]{0,128}+\s{0,9}+")
_NO_ARGUMENTS = re.compile(r"\s{0,9}+call:\s{0,9}+([^\s{}()<>:]{1,128}+)\s{0,9}+(?=<)")
_MAX_KEY = 128
_BARE = re.compile(rf"[^,{{}}()\[\]<]{{0,{_MAX_BARE + 1}}}+")
_KEY = re.compile(rf"[^:,{{}}()\[\]<]{{0,{_MAX_KEY}}}+")
_NAMED = re.compile(rf"[^:=,{{}}()\[\]<]{{0,{_MAX_KEY}}}+")
_QUOTES = ("'", '"')
_AHEAD = 512  # how far past a possible end of a call to look for the delimiter
_FAR = 65_536  # the same, where brackets of the call are still open
_BRACKETS = frozenset(")]}")
_AFTER_STRING = ",:)]}"
_BEFORE_STRING = ":=,[{("
_CLOSER = {"{": "}", "(": ")", "[": "]"}


class LaxObject(msgspec.Struct, frozen=True):
    """`delimiter` encloses a string."""

    delimiter: str
    typed: bool = False
    """The model delimits every value, numbers too, so the schema decides on the type."""

    def begins(self, *, bare: bool) -> Begin:  # noqa: ARG002  # no format has it bare
        """A head, or a truncated one."""
        return Begin(_HEAD_PREFIX.pattern + r"(?:\Z|[{(<])", "not call:NAME{")

    def read(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read one call."""
        reader = turn.reader
        while not (head := _HEAD.match(reader.buf, reader.pos)):
            if reader.final or not _HEAD_PREFIX.fullmatch(reader.buf, reader.pos):
                return (yield from self._without_arguments(turn, opening))
            yield
        name = turn.tools.resolve(head[1])
        if opening.strict and not turn.tools.allows(name):
            return turn.refuse(f"{name[:80]!r} is not a known tool")
        reader.pos = head.end()
        start_call(turn, name)
        complete = yield from _ObjectCopy(self, turn, name).bracket(_CLOSER[head[2]], 0, NO_SCHEMA)
        return (yield from finish_call(turn, ok=complete, why="the arguments break off"))

    def _without_arguments(self, turn: TurnState, opening: Opening) -> Need[bool]:
        """Read `call:NAME` before an end marker."""
        reader = turn.reader
        head = _NO_ARGUMENTS.match(reader.buf, reader.pos)
        name = turn.tools.resolve(head[1]) if head else ""
        if head is None or (opening.strict and not turn.tools.allows(name)):
            return turn.refuse("not call:NAME{")
        marker, _ = yield from turn.stop.at(reader, head.end() - reader.pos)
        if turn.stop.kinds.get(marker) != "end":
            return turn.refuse("not call:NAME{")
        reader.pos += len(head[0])
        start_call(turn, name)
        turn.sink.args("{}")
        return (yield from finish_call(turn, ok=True))


@lru_cache(maxsize=8)
def _string_lexer(delimiter: str, stop: Lexer) -> Lexer:
    """Finds the possible ends of a string: its delimiter or, if missing, the end of the call."""
    return Lexer({**dict.fromkeys(stop.kinds, "stop"), delimiter: "end"})


class _ObjectCopy:
    """Converts the arguments of one call to JSON."""

    __slots__ = ("closers", "delimiter_at", "engine", "name", "put", "turn")

    def __init__(self, engine: LaxObject, turn: TurnState, name: str) -> None:
        self.engine = engine
        self.turn = turn
        self.name = name
        self.put = turn.sink.args
        self.closers = ""  # closers of the open brackets, innermost first
        self.delimiter_at = -1  # the offset of the delimiter that was found last

    def bracket(self, closer: str, depth: int, schema: Schema) -> Need[bool]:
        """Copy the content of a bracket, from after the opening to after the closing one."""
        self.closers = closer + self.closers
        if closer == "]":
            return self._items(depth, schema)
        return self._members(closer, depth, schema)

    def _close(self, written: str) -> bool:
        """Handle a closing bracket. Always returns True, for use in `return`."""
        self.turn.reader.pos += 1
        self.closers = self.closers[1:]
        self.put(written)
        return True

    def _members(self, closer: str, depth: int, schema: Schema) -> Need[bool]:
        reader, separator = self.turn.reader, "{"
        while True:
            char = yield from skip_space(reader, _SPACE)
            if char == closer:
                return self._close("}" if separator == ", " else "{}")
            if char == ",":
                reader.pos += 1
                continue
            if depth == 0 and separator == ", " and (yield from self.turn.stop.at(reader))[0]:
                self.put("}")  # the last bracket is missing
                return True
            key = yield from self._key(named=closer == ")")
            if key is None:
                return False
            self.put(f"{separator}{values.quote(key)}: ")
            separator = ", "
            given = schema.property(key) if depth else self.turn.tools.schema(self.name, key)
            if not (yield from self._value(given, depth)):
                return False

    def _key(self, *, named: bool) -> Need[str | None]:
        """Read a key and its colon, or the equals sign of a `named` argument in parentheses."""
        reader, bare = self.turn.reader, _NAMED if named else _KEY
        delimiter = self.engine.delimiter
        key: str | None = None
        pieces: list[str] = []
        if (yield from peek(reader, len(delimiter))) == delimiter:
            if not (yield from self._delimited(pieces.append)):
                return None
            key = "".join(pieces)
        elif (yield from peek(reader, 1)) in _QUOTES:
            if not (yield from scalars.copy_python_string(reader, pieces.append)):
                return None
            key = str(json.loads("".join(pieces)))
        while key is None:
            match = bare.match(reader.buf, reader.pos)
            end = match.end() if match else reader.pos
            if end - reader.pos >= _MAX_KEY:
                return None
            if end < len(reader.buf):
                key = reader.buf[reader.pos : end].strip().strip("\"'")
                reader.pos = end
                if not key:
                    return None
                break
            if reader.final:
                return None
            yield
        char = yield from skip_space(reader, _SPACE)
        if char != ":" and not (named and char == "="):
            return None
        reader.pos += 1
        return key

    def _value(self, schema: Schema, depth: int) -> Need[bool]:
        reader, delimiter = self.turn.reader, self.engine.delimiter
        char = yield from skip_space(reader, _SPACE)
        if char in _CLOSER:
            reader.pos += 1
            if depth == _MAX_DEPTH:
                return False
            return (yield from self.bracket(_CLOSER[char], depth + 1, schema))
        types = schema.types()
        if char == delimiter[0] and (yield from peek(reader, len(delimiter))) == delimiter:
            return (yield from self._string(types))
        if char in _QUOTES:
            return (yield from self._quoted(types))
        return (yield from self._bare(types))

    def _items(self, depth: int, schema: Schema) -> Need[bool]:
        reader, separator, count = self.turn.reader, "[", 0
        while True:
            char = yield from skip_space(reader, _SPACE)
            if char == "]":
                return self._close("]" if separator == ", " else "[]")
            if char == ",":
                reader.pos += 1
                continue
            if not char:
                return False
            self.put(separator)
            separator = ", "
            if not (yield from self._value(schema.item(count), depth)):
                return False
            count += 1

    def _string(self, types: Types) -> Need[bool]:
        stated = not self.engine.typed and "string" in types  # the delimiter says so
        if not (stated or values.is_text(types)):
            pieces: list[str] = []
            if not (yield from self._delimited(pieces.append)):
                return False
            self.put(values.coerce("".join(pieces), types))
            return True
        put = self.put
        put('"')
        if not (yield from self._delimited(lambda text: put(escape(text)))):
            return False
        put('"')
        return True

    def _quoted(self, types: Types) -> Need[bool]:
        """Copy a quoted string with escapes, and pass a surplus delimiter after it."""
        reader, delimiter = self.turn.reader, self.engine.delimiter
        pieces: list[str] = []
        put = self.put if values.is_text(types) else pieces.append
        if not (yield from scalars.copy_python_string(reader, put, self._ends_quoted)):
            return False
        if (yield from peek(reader, len(delimiter))) == delimiter:
            reader.pos += len(delimiter)
        if pieces:
            self.put(values.coerce(str(json.loads("".join(pieces))), types))
        return True

    def _ends_quoted(self, reader: Reader, ahead: int) -> Need[bool]:
        delimiter = self.engine.delimiter
        rest = (yield from peek(reader, ahead + len(delimiter)))[ahead:]
        if rest and delimiter.startswith(rest):  # it is truncated if it is not whole
            ahead += len(rest)
        return (yield from scalars.before_mark(reader, ahead))

    def _delimited(self, put: Callable[[str], None]) -> Need[bool]:
        """Copy the text between two delimiters."""
        reader, delimiter = self.turn.reader, self.engine.delimiter
        lexer = _string_lexer(delimiter, self.turn.stop)
        reader.pos += len(delimiter)
        while True:
            start, end, marker = lexer.search(reader)
            buf, pos, lead = reader.buf, reader.pos, 0
            if not (marker or reader.final) and start > pos and buf[start - 1] not in _BRACKETS:
                put(buf[pos:start])
                reader.pos = start
                yield
                continue
            if not marker and reader.final:
                start = lexer.cut(reader)
            if start > pos:
                if buf[start - 1] in _BRACKETS:
                    lead = self._closers_before(start)
                if start - lead > pos:
                    put(buf[pos : start - lead])
                    reader.pos = start - lead
            size, is_end = lead + end - start, lead == len(self.closers)
            if not marker and reader.final:
                return False
            if not marker:
                yield
            elif lexer.kinds[marker] == "end":
                put(reader.buf[reader.pos : reader.pos + lead])
                reader.pos += size
                return True
            elif (yield from self._delimiter_behind(size, _AHEAD if is_end else _FAR)):
                put(reader.buf[reader.pos : reader.pos + size])
                reader.pos += size
            else:
                return is_end

    def _closers_before(self, start: int) -> int:
        """Return how many characters before `start` may close all open brackets."""
        reader, closers = self.turn.reader, self.closers
        size = min(len(closers), start - reader.pos)
        while size and not closers.startswith(reader.buf[start - size : start]):
            size -= 1
        return size

    def _delimiter_behind(self, ahead: int, most: int) -> Need[bool]:
        """Whether a delimiter that ends a string follows after a possible end of the call."""
        reader, delimiter = self.turn.reader, self.engine.delimiter
        end = ahead + most
        if reader.offset + ahead <= self.delimiter_at:  # found before, do not look at it again
            return self.delimiter_at + len(delimiter) <= reader.offset + end
        while (found := reader.buf.find(delimiter, reader.pos + ahead, reader.pos + end)) < 0:
            if reader.final or len(reader.buf) - reader.pos >= end:
                return False
            ahead = max(ahead, len(reader.buf) - reader.pos - len(delimiter) + 1)
            yield
        ahead = found - reader.pos
        then = yield from scalars.look_past_space(reader, ahead + len(delimiter))
        if reader.buf[reader.pos + then : reader.pos + then + 1] not in _AFTER_STRING:
            return False
        self.delimiter_at = reader.offset + ahead
        return True

    def _bare(self, types: Types) -> Need[bool]:
        """Copy a bare value: a JSON word or number, or else text converted by the schema."""
        reader = self.turn.reader
        while True:
            match = _BARE.match(reader.buf, reader.pos)
            end = match.end() if match else reader.pos
            if end - reader.pos > _MAX_BARE:
                return False
            if end < len(reader.buf):
                break
            if reader.final:
                return False
            yield
        size = end - reader.pos
        text = reader.buf[reader.pos : end].strip()
        literal = scalars.from_json_bare(text)
        if literal is None or (types and values.is_text(types)) or reader.buf[end] == "<":
            whole = yield from self._to_delimiter(size)
            if whole:
                self.put(values.coerce(reader.buf[reader.pos : reader.pos + whole], types))
                reader.pos += whole + len(self.engine.delimiter)
                return True
        if not text:
            return False
        reader.pos += size
        if literal is not None and not (types and values.is_text(types)):
            self.put(literal)
        else:
            self.put(values.coerce(text.strip("\"'"), types))
        return True

    def _to_delimiter(self, ahead: int) -> Need[int]:
        """Return the length of a string without its first delimiter, or 0 if it is none."""
        reader, delimiter, stops = self.turn.reader, self.engine.delimiter, self.turn.stop.kinds
        while True:
            start, end = reader.pos + ahead, reader.pos + _MAX_BARE
            found = reader.buf.find(delimiter, start, end)
            text = reader.buf[reader.pos : found if found >= 0 else end]
            if any(stop in text for stop in stops):
                return 0
            if found >= 0:
                return 0 if text.rstrip()[-1:] in _BEFORE_STRING else len(text)
            if reader.final or len(reader.buf) >= end:
                return 0
            yield
