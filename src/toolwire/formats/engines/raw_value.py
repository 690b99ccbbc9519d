"""Where does a raw value end? For family D, whose values are not escaped.

A closing tag closes only if what follows it can follow it. A value whose closing tag was forgotten
ends where a new, declared parameter begins or where the call certainly ends.
"""

from collections.abc import Callable, Container

from toolwire.formats.engines.tags import Tags, attributes, unglyph, value_lexer
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, peek
from toolwire.formats.turn import Turn

_LOOK = 64
_MAX_KEY = 160
_CDATA = "<![CDATA["
_CDATA_END = Lexer({"]]>": "end"})

Put = Callable[[str], None]


class RawValue:
    """One value being copied. `open_keys` are the parameters that may still come."""

    __slots__ = ("body", "key", "open_keys", "tags", "turn")

    def __init__(
        self, tags: Tags, turn: Turn, body: Lexer, key: str, open_keys: Container[str]
    ) -> None:
        self.tags = tags
        self.turn = turn
        self.body = body
        self.key = key
        self.open_keys = open_keys

    def copy(self, put: Put) -> Need[bool]:
        """Copy raw text up to where the value certainly ends."""
        reader, lexer = self.turn.reader, value_lexer(self.tags, self.body, self.key)
        yield from self._value_start(put)
        while True:
            start, end, marker = lexer.search(reader)
            if start > reader.pos:
                put(reader.buf[reader.pos : start])
                reader.pos = start
            if not marker:
                if reader.final:
                    return False
                yield
                continue
            kind, size = lexer.kinds[marker], end - start
            if kind == "end" and (yield from self._can_follow(size)):
                reader.pos += size
                return True
            if kind in ("param", "close") and (yield from self._ends_value(kind, marker, size)):
                return True
            put(reader.buf[reader.pos : reader.pos + size])
            reader.pos += size

    def _value_start(self, put: Put) -> Need[None]:
        """Pass the newline in front of the value, and take a CDATA section for what it holds."""
        reader = self.turn.reader
        if self.tags.trim and (yield from peek(reader, 1)) == "\n":
            reader.pos += 1
        if self.tags.wrappers and (yield from peek(reader, 1)) == "<":
            if (yield from peek(reader, len(_CDATA))) != _CDATA:
                return
            reader.pos += len(_CDATA)
            while True:
                start, end, marker = _CDATA_END.search(reader)
                put(reader.buf[reader.pos : start])
                reader.pos = end
                if marker or reader.final:
                    return
                yield

    def _can_follow(self, ahead: int) -> Need[bool]:
        """Whether a closing tag of this size is followed by what can follow one."""
        ahead = yield from self._look_past_space(ahead)
        reader = self.turn.reader
        if reader.pos + ahead >= len(reader.buf):
            return True
        marker, _ = yield from self.body.at(reader, ahead)
        if not marker:
            marker, _ = yield from self.turn.stop.at(reader, ahead)
        return bool(marker)

    def _ends_value(self, kind: str, marker: str, size: int) -> Need[bool]:
        """Whether a tag inside a value shows that the value's own close was forgotten."""
        reader = self.turn.reader
        if kind == "param":
            key = yield from self._key_ahead(marker.lstrip("\n"), size)
            return key in self.open_keys
        ahead = yield from self._look_past_space(size)
        if reader.pos + ahead >= len(reader.buf):
            return True
        found, _ = yield from self.turn.stop.at(reader, ahead)
        return bool(found)

    def _key_ahead(self, marker: str, ahead: int) -> Need[str]:
        """The key of the parameter whose opener ends `ahead` characters from here."""
        tags, reader = self.tags, self.turn.reader
        if tags.declared:
            return marker[1:-1]
        while True:
            start = reader.pos + ahead
            found = reader.buf.find(tags.key_end, start, start + _MAX_KEY)
            if found >= 0:
                break
            if reader.final or len(reader.buf) - start > _MAX_KEY:
                return ""
            yield
        head = reader.buf[start:found]
        if tags.glyphs:
            head = unglyph(head)
        return attributes(head).get(tags.key, "") if tags.key else head.strip().strip("\"'")

    def _look_past_space(self, ahead: int) -> Need[int]:
        reader, limit = self.turn.reader, ahead + _LOOK
        while True:
            while reader.pos + ahead < len(reader.buf):
                if ahead >= limit or not reader.buf[reader.pos + ahead].isspace():
                    return ahead
                ahead += 1
            if reader.final:
                return ahead
            yield
