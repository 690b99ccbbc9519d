"""Finds the end of a raw value, for family D, whose values are not escaped.

A closing tag counts only if a valid continuation follows. A value without a closing tag ends where
a new, declared parameter begins or where the call certainly ends.
"""

from collections.abc import Callable, Container

from toolwire.formats.engines.tags import Tags, key_of, unglyph, value_lexer
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, peek
from toolwire.formats.turn_state import TurnState

_LOOK = 64
_MAX_KEY = 160
_CDATA = "<![CDATA["
_CDATA_END = "]]>"

Put = Callable[[str], None]


class RawValue:
    """One value being copied. `open_keys` are the parameters that may still come."""

    __slots__ = ("body", "key", "open_keys", "tags", "turn")

    def __init__(
        self, tags: Tags, turn: TurnState, body: Lexer, key: str, open_keys: Container[str]
    ) -> None:
        self.tags = tags
        self.turn = turn
        self.body = body
        self.key = key
        self.open_keys = open_keys

    def copy(self, put: Put, *, begun: bool = False) -> Need[bool]:
        """Copy raw text up to the certain end of the value. `begun`: its start was passed."""
        if not begun and (yield from self._value_start(put)):
            held: list[str] = []
            if not (yield from self.copy(held.append, begun=True)):
                return False
            put("".join(held))
            return True
        reader, lexer = self.turn.reader, value_lexer(self.tags, self.body, self.key)
        keeps, depth = not self.tags.trim, 0
        while True:
            start, end, marker = lexer.search(reader)
            if not marker and reader.final:
                start = lexer.cut(reader)
            buf, pos, lead = reader.buf, reader.pos, 0
            if start > pos:
                # A newline before a tag is part of the value only if the tag is part of it too.
                if keeps and buf[start - 1] == "\n":
                    lead = 1
                if start - lead > pos:
                    put(buf[pos : start - lead])
                    reader.pos = start - lead
            if not marker:
                if reader.final:
                    return False
                yield
                continue
            kind, size = lexer.kinds[marker], lead + end - start
            if kind in ("param", "close") and (yield from self._ends_value(kind, marker, size)):
                return True
            if kind == "param" and self._key_is_cut(size):
                reader.pos = len(reader.buf)
                return False
            ends = kind == "end" and not depth and (yield from self._can_follow(size))
            depth += {"nest": 1, "end": -bool(depth)}.get(kind, 0)
            put(reader.buf[reader.pos : reader.pos + (lead if ends else size)])
            reader.pos += size
            if ends:
                return True

    def _value_start(self, put: Put) -> Need[bool]:
        """Pass the newline before the value, and unwrap a CDATA section. True if the text ends in
        what may be one."""
        reader = self.turn.reader
        if self.tags.trim and (yield from peek(reader, 1)) == "\n":
            reader.pos += 1
        while (yield from peek(reader, 1)) == "<":
            if (ahead := (yield from peek(reader, len(_CDATA)))) != _CDATA:
                return reader.final and _CDATA.startswith(ahead)
            end = yield from self._find(_CDATA_END, len(_CDATA))
            if end < 0 or not (yield from self._ends_section(end + len(_CDATA_END))):
                return reader.final
            put(reader.buf[reader.pos + len(_CDATA) : reader.pos + end])
            reader.pos += end + len(_CDATA_END)
        return False

    def _find(self, text: str, ahead: int) -> Need[int]:
        """Return the distance to `text`, or -1. Everything up to it is kept."""
        reader = self.turn.reader
        while (found := reader.buf.find(text, reader.pos + ahead)) < 0:
            if reader.final:
                return -1
            ahead = max(ahead, len(reader.buf) - reader.pos - len(text) + 1)
            yield
        return found - reader.pos

    def _ends_section(self, ahead: int) -> Need[bool]:
        """Whether the value ends after a section, or another section follows."""
        reader, lexer = self.turn.reader, value_lexer(self.tags, self.body, self.key)
        then = (yield from peek(reader, ahead + len(_CDATA)))[ahead:]
        if then == _CDATA:
            return True
        marker, size = yield from lexer.at(reader, ahead)
        return lexer.kinds.get(marker) == "end" and (yield from self._can_follow(ahead + size))

    def _can_follow(self, ahead: int) -> Need[bool]:
        """Whether a valid continuation follows a closing tag of this size."""
        ahead = yield from self._look_past_space(ahead)
        return (yield from self._structure_at(ahead, self.body, self.turn.stop))

    def _structure_at(self, ahead: int, *lexers: Lexer) -> Need[bool]:
        """Whether a marker, a truncated marker or the end of the text is there."""
        reader = self.turn.reader
        if reader.pos + ahead >= len(reader.buf):
            return True
        for lexer in lexers:
            marker, _ = yield from lexer.at(reader, ahead)
            if marker or (reader.final and lexer.begun(reader, ahead)):
                return True
        return False

    def _ends_value(self, kind: str, marker: str, size: int) -> Need[bool]:
        """Whether a tag inside a value shows that the value's own closing tag is missing."""
        if kind == "param":
            key = yield from self._key_ahead(marker.lstrip("\n"), size)
            return key in self.open_keys
        ahead = yield from self._look_past_space(size)
        return (yield from self._structure_at(ahead, self.turn.stop))

    def _key_ahead(self, marker: str, ahead: int) -> Need[str]:
        """Return the key of the parameter whose opener ends `ahead` characters from here."""
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
        return key_of(tags, unglyph(head) if tags.glyphs else head)

    def _key_is_cut(self, ahead: int) -> bool:
        """Whether the text is truncated in the key of a parameter, or before it."""
        reader, tags = self.turn.reader, self.tags
        start = reader.pos + ahead
        return (
            reader.final
            and not tags.declared
            and len(reader.buf) - start <= _MAX_KEY
            and tags.key_end not in reader.buf[start:]
        )

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
