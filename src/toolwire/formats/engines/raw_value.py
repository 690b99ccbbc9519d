"""Finds the end of a raw value, for family D, whose values are not escaped.

A closing tag counts only if a valid continuation follows. A value without a closing tag ends where
a new, declared parameter begins or where the call ends. A value may quote calls: then a tag that
seems to end it belongs to a quoted call if a closing tag for the value itself follows.
"""

import re
from collections.abc import Callable, Container

from toolwire.formats.engines.continuation import may_be_undeclared, structure_at, undeclared_at
from toolwire.formats.engines.tags import (
    Tags,
    key_lexer,
    key_of,
    spelled,
    unglyph,
    value_lexer,
)
from toolwire.formats.lexer import Lexer
from toolwire.formats.reader import Need, peek
from toolwire.formats.turn_state import TurnState

_LOOK = 64
_MAX_KEY = 160
_MAX_TAG = 80
_MOST_COPIED = 512
_APART = 4096
_PLAIN_KEY = re.compile(r"[\w.$\-]{1,64}+")
_OPENERS = ("param", "open", "stop")
_LOOKAHEADS = 8  # how often in a turn without finding it
_CDATA = "<![CDATA["
_CDATA_END = "]]>"

Put = Callable[[str], None]


class RawValue:
    """One value being copied. `open_keys` are the parameters that may still come; None if they are
    unknown."""

    __slots__ = (
        "_copied", "_last", "_nested", "body", "crlf", "cut", "key", "open_keys", "tags", "turn",
    )  # fmt: skip

    def __init__(
        self, tags: Tags, turn: TurnState, body: Lexer, key: str, open_keys: Container[str] | None
    ) -> None:
        self.tags = tags
        self.turn = turn
        self.body = body
        self.key = key
        self.open_keys = open_keys
        self.cut = False
        self.crlf = False  # the value begins with one, so it may end with one
        self._copied: list[str] = []  # of the value, and not looked at yet
        self._last = ""  # the last characters that were
        self._nested = False  # an element in the value may have the same closing tag

    def copy(self, put: Put, *, begun: bool = False) -> Need[bool]:
        """Copy raw text up to the certain end of the value. `begun`: its start was passed."""
        if not begun and (yield from self._value_start(put)):
            held: list[str] = []
            if not (yield from self.copy(held.append, begun=True)):
                return False
            put("".join(held))
            return True
        reader, lexer, copied = self.turn.reader, self._lexer(), self._copied
        keeps, depth, inner, quotes = not self.tags.trim, 0, 0, self.tags.declared
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
                    text = buf[pos : start - lead]
                    put(text)
                    copied.append(text)
                    reader.pos = start - lead
                    if len(copied) > _MOST_COPIED:
                        self._look_for_openers()
            if not marker:
                if reader.final:
                    return False
                yield
                continue
            kind, size = lexer.kinds[marker], lead + end - start
            if kind in ("param", "close") and (yield from self._ends_value(kind, marker, size)):
                yield from self._copy_past(kind, marker, size, put, quotes=quotes)
                return not self.cut
            if kind == "param" and self._key_is_cut(size):
                reader.pos = len(reader.buf)
                return False
            closes = kind == "end" or (kind == "slip" and not self._nests_same())
            ends = closes and not depth and (yield from self._can_follow(size))
            if kind == "end" and not ends:
                doubled = 0 if inner else (yield from self._doubled_close(size))
                if not doubled and (yield from self._continuation_is_cut(size)):
                    reader.pos = len(reader.buf)
                    return False
                size, ends = size + doubled, bool(doubled)
            if ends and inner and (yield from self._copy_quoted(size, inner - 1, put)):
                return not self.cut
            inner += self._nests(kind, marker) - (kind == "end" and inner > 0)
            quotes = quotes or kind in ("open", "stop")
            depth += {"nest": 1, "end": -bool(depth)}.get(kind, 0)
            text = reader.buf[reader.pos : reader.pos + (lead if ends else size)]
            put(text)
            copied.append(text)
            reader.pos += size
            if ends:
                return True

    def _nests_same(self) -> bool:
        """Whether the value so far has an opening tag of what may close it."""
        self._look_for_openers()
        return self._nested

    def _look_for_openers(self) -> None:
        closes = (self.tags.close.replace("{key}", self.key), *self.tags.close_slips)
        tags = spelled((f"<{close[2:-1]}" for close in closes), self.tags.spellings)
        text = self._last + "".join(self._copied)
        self._copied.clear()
        self._nested = self._nested or any(tag in text for tag in tags)
        self._last = text[-_MAX_TAG:]

    def _doubled_close(self, ahead: int) -> Need[int]:
        """Return the size of a duplicate of the closing tag after which a valid continuation
        follows, or 0. In a value of other elements with this tag, the first one is part of it."""
        if self.tags.tree or self._nests_same() or not self._last.strip():
            return 0
        lexer, start = self._lexer(), (yield from self._look_past_space(ahead))
        marker, size = yield from lexer.at(self.turn.reader, start)
        doubled = lexer.kinds.get(marker) == "end" and (yield from self._can_follow(start + size))
        return start + size - ahead if doubled else 0

    def _lexer(self) -> Lexer:
        return value_lexer(self.tags, self.body, self.turn.stop, self.key, crlf=self.crlf)

    def _value_start(self, put: Put) -> Need[bool]:
        """Pass the newline before the value, and unwrap a CDATA section. True if the text ends in
        what may be either."""
        reader = self.turn.reader
        start = (yield from peek(reader, 1)) if self.tags.trim else ""
        if start == "\n":
            reader.pos += 1
        elif start == "\r":
            if (ahead := (yield from peek(reader, 2))) == "\r":
                return True  # the text ends in the line end
            self.crlf = ahead == "\r\n"
            reader.pos += 2 * self.crlf
        return (yield from self._sections(put))

    def _sections(self, put: Put) -> Need[bool]:
        """Unwrap CDATA sections, and drop the space around them. True if the text ends in what may
        begin one."""
        reader, passed = self.turn.reader, False
        while True:
            lead = yield from self._look_past_space(0)
            ahead = (yield from peek(reader, lead + 1))[lead:]
            if ahead == "<":
                ahead = (yield from peek(reader, lead + len(_CDATA)))[lead:]
            if ahead != _CDATA:
                reader.pos += lead if passed else 0
                return reader.final and _CDATA.startswith(ahead)
            end = yield from self._find(_CDATA_END, lead + len(_CDATA))
            if end < 0 or not (yield from self._ends_section(end + len(_CDATA_END))):
                return reader.final
            put(reader.buf[reader.pos + lead + len(_CDATA) : reader.pos + end])
            reader.pos += end + len(_CDATA_END)
            passed = True

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
        reader, lexer = self.turn.reader, self._lexer()
        then = (yield from peek(reader, ahead + len(_CDATA)))[ahead:]
        if then == _CDATA:
            return True
        ahead = yield from self._look_past_space(ahead)
        marker, size = yield from lexer.at(reader, ahead)
        return lexer.kinds.get(marker) == "end" and (yield from self._can_follow(ahead + size))

    def _can_follow(self, ahead: int) -> Need[bool]:
        """Whether a valid continuation follows a closing tag of this size."""
        ahead = yield from self._look_past_space(ahead)
        reader, body, stop = self.turn.reader, self.body, self.turn.stop
        if (yield from structure_at(reader, ahead, body, stop)):
            return True
        return self.tags.declared and any((yield from undeclared_at(reader, ahead, body, stop)))

    def _nests(self, kind: str, marker: str) -> bool:
        """Whether this tag opens a parameter with the same closing tag as the value."""
        own = not self.tags.declared or marker.strip() == f"<{self.key}>"
        return kind == "param" and own

    def _copy_past(
        self, kind: str, marker: str, size: int, put: Put, *, quotes: bool
    ) -> Need[None]:
        """Copy the rest of the value if it quotes this tag, which seems to end it."""
        if kind == "close":
            yield from self._copy_quoted(size, 0, put, apart=not quotes, ended=True)
        elif quotes or self.open_keys is None:
            yield from self._copy_quoted(size, self._nests(kind, marker), put)

    def _copy_quoted(
        self, ahead: int, depth: int, put: Put, *, apart: bool = False, ended: bool = False
    ) -> Need[bool]:
        """Copy the rest of the value if it quotes parameters, of which so many are open, or, if
        `apart`, only closing tags. If the text is truncated before that is certain, drop the rest.
        `ended`: the end of a call was seen."""
        begin, end = yield from self._outer_close(ahead, depth, apart=apart, ended=ended)
        if self.cut:
            self.turn.reader.pos = len(self.turn.reader.buf)
            return True
        if not end:
            return False
        reader = self.turn.reader
        put(reader.buf[reader.pos : reader.pos + begin])
        reader.pos += end
        return True

    def _outer_close(
        self, ahead: int, depth: int, *, apart: bool, ended: bool
    ) -> Need[tuple[int, int]]:
        """Return where the value's own closing tag begins and ends if every tag that is open here
        has one before it, or (0, 0). If `apart`, look no further than the next opening tag, or
        `_APART`: the call has probably ended, and what follows it is held until then."""
        turn, reader, lexer = self.turn, self.turn.reader, self._lexer()
        turn.lookaheads += not apart
        while apart or turn.lookaheads <= _LOOKAHEADS:
            start, end, marker = lexer.search(reader, ahead)
            begin, ahead = start - reader.pos, end - reader.pos
            kind = lexer.kinds.get(marker)
            if kind == "end" and depth:
                depth -= 1
            elif kind == "end" and (yield from self._can_follow(ahead)):
                turn.lookaheads -= not apart  # what was looked at is consumed
                return begin, ahead
            if apart and (kind in _OPENERS or begin > _APART):
                break
            depth += self._nests(kind or "", marker)
            ended = ended or kind in ("close", "stop")
            if not marker:
                if reader.final:
                    self.cut = not ended
                    break
                ahead = begin
                yield
        return 0, 0

    def _ends_value(self, kind: str, marker: str, size: int) -> Need[bool]:
        """Whether a tag inside a value shows that the value's own closing tag is missing."""
        if kind == "param":
            key = yield from self._key_ahead(marker.lstrip(), size)
            if self.open_keys is None:
                return _PLAIN_KEY.fullmatch(key) is not None
            return key in self.open_keys
        ahead = yield from self._look_past_space(size)
        return (yield from structure_at(self.turn.reader, ahead, self.turn.stop))

    def _key_ahead(self, marker: str, ahead: int) -> Need[str]:
        """Return the key of the parameter whose opener ends `ahead` characters from here."""
        tags = self.tags
        if tags.declared:
            return marker[1:-1]
        found = yield from key_lexer(tags).read_to(self.turn.reader, _MAX_KEY, ahead)
        if found is None:
            return ""
        return key_of(tags, unglyph(found[0]) if tags.glyphs else found[0])

    def _key_is_cut(self, ahead: int) -> bool:
        """Whether the text is truncated in the key of a parameter, or before it."""
        reader, tags = self.turn.reader, self.tags
        if not reader.final or tags.declared or len(reader.buf) - reader.pos - ahead > _MAX_KEY:
            return False
        return not any(lexer.search(reader, ahead)[2] for lexer in (key_lexer(tags), self._lexer()))

    def _continuation_is_cut(self, ahead: int) -> Need[bool]:
        """Whether the text is truncated in what may show that the value has ended: a duplicate of
        its closing tag, or an undeclared parameter."""
        reader, lexer = self.turn.reader, self._lexer()
        if not reader.final:
            return False
        ahead = yield from self._look_past_space(ahead)
        if lexer.search(reader, ahead)[2]:
            return False
        return lexer.begun(reader, ahead) or (
            self.tags.declared and may_be_undeclared(reader, ahead)
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
