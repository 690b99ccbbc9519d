"""Where a string argument and a call end that are written in Python.

Models do not escape every quote, and miscount brackets. So a quote or a bracket ends something only
if the text after it can follow. A string that contains a bare quote is code, most likely, with
brackets of its own: it ends only where everything is written correctly.
"""

import re

from toolwire.formats.arguments.json_text import MAX_COMMENT, pass_comment
from toolwire.formats.arguments.scalars import look_past_space
from toolwire.formats.reader import Need, Reader, skip_space
from toolwire.formats.turn_ends import TURN_END_LEXER
from toolwire.formats.turn_state import TurnState

NAME = re.compile(r"[A-Za-z_][\w.\-]{0,127}+")
KEY = re.compile(r"[^\W\d][\w\-]{0,127}+")
_KEY_PREFIX = re.compile(rf"\*{{0,2}}+|{KEY.pattern}\s{{0,64}}+")
_NEXT_KEY = re.compile(rf"\)|\*\*|{KEY.pattern}\s{{0,64}}+=(?!=)|\Z")
_AFTER_CALL = ",;]"
SURPLUS = (")", "}")
_MOST_SURPLUS = 4
_MOST_COMMENTS = 8
_SPACE = 256
_GAP = r"\s{0,16}+"
_NEXT_LIST = re.compile(rf"{_GAP},?+{_GAP}\[{_GAP}")
_NEXT_LIST_BEGUN = re.compile(rf"{_GAP},?+{_GAP}\[?+{_GAP}")


class Ends:
    """Decides where a string argument ends, and where a call ends.

    With `lines` a call ends where the next begins. A `free` call is in prose, so anything may
    follow it except what could continue a string. The calls may be `fenced`. `quoted`: the string
    contains a bare quote.
    """

    __slots__ = (
        "_after", "_behind", "_comment_seen", "_free", "_lines", "_turn", "fenced", "quoted",
    )  # fmt: skip

    def __init__(self, turn: TurnState, *, lines: bool, free: bool, fenced: bool) -> None:
        self._turn = turn
        self._lines = lines
        self._free = free
        self._after = _AFTER_CALL + ("`" if fenced else "")
        self.fenced = fenced
        self.quoted = False
        self._comment_seen = (0, -1)  # the last comment that was looked at, by its offsets
        self._behind = ((0, ""), 0)  # what ends a comment, and where the blank behind it ends

    def wrapped(self) -> "Ends":
        """Return the same rules for a call inside the brackets of another."""
        ends = Ends(self._turn, lines=self._lines, free=self._free, fenced=self.fenced)
        ends._after += ")"
        return ends

    def string(self, reader: Reader, ahead: int) -> Need[bool]:
        """Whether the next argument, or the end of the call, is there."""
        ended = yield from self._string(reader, ahead)
        self.quoted = self.quoted or not ended
        return ended

    def _string(self, reader: Reader, ahead: int) -> Need[bool]:
        ahead = yield from self._past_blank(reader, ahead)
        char = reader.buf[reader.pos + ahead : reader.pos + ahead + 1]
        if char == ")":
            return (yield from self.call(reader, ahead + 1, reader.buf[reader.pos]))
        if char == "]":
            return (yield from self.unclosed(reader, ahead))
        if char != ",":
            return not char
        ahead = yield from self._past_blank(reader, ahead + 1)
        while _KEY_PREFIX.fullmatch(reader.buf, reader.pos + ahead):
            if reader.final:
                return True  # the text is truncated inside the next key
            yield
        return _NEXT_KEY.match(reader.buf, reader.pos + ahead) is not None

    def call(self, reader: Reader, ahead: int, quote: str = "") -> Need[bool]:
        """Whether the text after the `)` can follow a call, without another `quote`."""
        after, ahead = ahead, (yield from self._past_blank(reader, ahead, quote))
        char = reader.buf[reader.pos + ahead : reader.pos + ahead + 1]
        apart = "\n" in reader.buf[reader.pos + after : reader.pos + ahead]
        ended = not self.quoted and (apart or char == self._turn.mention)
        if self._free and char != ")" and (char != quote or ended):
            return True
        if char in self._after or (self._lines and (char.isalpha() or char == "_")):
            return True
        if (apart or not self.quoted) and (yield from self.tool(reader, ahead)):
            return True
        if (yield from self.surplus(reader, ahead)):
            return True
        return (yield from self._marker(reader, ahead))

    def unclosed(self, reader: Reader, ahead: int = 0) -> Need[bool]:
        """Whether a `]` is there that ends the calls, so that the `)` before it is missing."""
        if self.quoted or reader.buf[reader.pos + ahead : reader.pos + ahead + 1] != "]":
            return False
        ahead = yield from look_past_space(reader, ahead + 1)
        if reader.pos + ahead == len(reader.buf):
            return not self._free
        return (yield from self._marker(reader, ahead))

    def surplus(self, reader: Reader, ahead: int = 0) -> Need[int]:
        """Return the distance to what ends the calls, or this call, behind brackets that are too
        many; 0 without such brackets or if they are text."""
        if self.quoted:
            return 0
        first, char = ahead, reader.buf[reader.pos + ahead : reader.pos + ahead + 1]
        for _ in range(_MOST_SURPLUS):
            if char not in SURPLUS:
                break
            ahead = yield from look_past_space(reader, ahead + 1)
            char = reader.buf[reader.pos + ahead : reader.pos + ahead + 1]
        if ahead == first:
            return 0
        if not self._free and char in _AFTER_CALL:
            return ahead
        ended = (yield from self.tool(reader, ahead)) or (yield from self._marker(reader, ahead))
        return ahead if ended else 0

    def next_list(self, reader: Reader) -> Need[int]:
        """Return the distance to the first call in another list, or 0."""
        while _NEXT_LIST_BEGUN.fullmatch(reader.buf, reader.pos) and not reader.final:
            yield
        match = _NEXT_LIST.match(reader.buf, reader.pos)
        ahead = match.end() - reader.pos if match else 0
        return ahead if ahead and (yield from self.tool(reader, ahead)) else 0

    def tool(self, reader: Reader, ahead: int) -> Need[bool]:
        """Whether a call of a declared tool is there, although a comma is missing. It may be cut
        off in its name."""
        tools = self._turn.tools
        while True:
            match = NAME.match(reader.buf, reader.pos + ahead)
            if match is None or match.end() < len(reader.buf) or reader.final:
                break
            yield
        if match is None:
            return False
        if match.end() == len(reader.buf):
            return any(name.startswith(match.group()) for name in tools.names())
        return reader.buf[match.end()] == "(" and tools.known(tools.resolve(match.group()))

    def pass_blank(self, reader: Reader) -> Need[str]:
        """Consume whitespace and comments, as `skip_blank` does, but no marker in a comment."""
        while True:
            char = yield from skip_space(reader, _SPACE)
            size = (yield from self._comment(reader, 0)) if char == "#" else 0
            if not size and not (char == "/" and (yield from pass_comment(reader))):
                return char
            reader.pos += size

    def _past_blank(self, reader: Reader, ahead: int, quote: str = "") -> Need[int]:
        """Return the distance to the next character that is neither space nor in a comment.
        Consumes nothing, so it looks past few comments. A comment contains no `quote`."""
        ahead, ended = yield from self._past_comment(reader, ahead, quote)
        if ended:
            return ahead
        key = (reader.offset + ahead, quote)
        if self._behind[0] != key:  # every quote before it on its line asks the same
            for _ in range(_MOST_COMMENTS - 1):
                ahead, ended = yield from self._past_comment(reader, ahead, quote)
                if ended:
                    break
            else:
                ahead = yield from look_past_space(reader, ahead)
            self._behind = (key, reader.offset + ahead)
        return self._behind[1] - reader.offset

    def _past_comment(self, reader: Reader, ahead: int, quote: str) -> Need[tuple[int, bool]]:
        """Return the distance to the end of the next comment, or to something else; then True."""
        ahead = yield from look_past_space(reader, ahead)
        if reader.buf[reader.pos + ahead : reader.pos + ahead + 1] != "#":
            return ahead, True
        size = yield from self._comment(reader, ahead)
        start = reader.pos + ahead
        if not size or (quote and quote in reader.buf[start : start + size]):
            return ahead, True
        return ahead + size, False

    def _comment(self, reader: Reader, ahead: int) -> Need[int]:
        """Return the length of the comment there, up to its newline or a marker; 0 if it is too
        long, or may be the last line of prose."""
        begin, over = self._comment_seen
        if begin <= reader.offset + ahead < over:
            return over - reader.offset - ahead
        while True:
            buf, start = reader.buf, reader.pos + ahead
            newline = buf.find("\n", start, start + MAX_COMMENT)
            end = newline if newline >= 0 else min(len(buf), start + MAX_COMMENT)
            marker = self._turn.stop.find(buf, start, end)
            if marker >= 0 or newline >= 0:
                size = (marker if marker >= 0 else newline) - start
                self._comment_seen = (reader.offset + ahead, reader.offset + ahead + size)
                return size
            if end - start == MAX_COMMENT:
                return 0
            if reader.final:
                return 0 if self._free else end - start
            yield

    def _marker(self, reader: Reader, ahead: int) -> Need[bool]:
        """Whether a marker is there, which may be cut off."""
        for lexer in (self._turn.stop, TURN_END_LEXER):
            marker, _ = yield from lexer.at(reader, ahead)
            if marker or (reader.final and lexer.begun(reader, ahead)):
                return True
        return False
