"""The Markdown of the text being read: code fences, code spans and quotation marks.

A fence opens at a line that begins with three or more backticks and has no others, or that begins
with three or more tildes. The mark of a list item or of a block quotation may precede them. It ends
at a line that consists of at least as many of the same, behind as many marks of block quotations.
Anywhere else a run of backticks opens a span. A run of the same length closes it, or the end of the
paragraph leaves it open. The sizes of runs and fences of tildes are kept as negative numbers.

The state is needed only at a marker. So text is buffered until then and scanned at once, which is
much cheaper than scanning each piece.

This is the state of the text so far. Whether an open mark is also closed depends on the text after
it: see `mentions.py`.
"""

import re
from typing import Self

FENCE = "```"
MENTIONED = ("quoted in a code fence", "quoted in backticks", "quoted in quotation marks")
"""What a trace says of text that is quoted."""
_LINE = 160  # how much of a line is kept, to know what precedes a marker
_SPANS = 8
_KEPT = 256  # pieces kept before they are scanned
_LONG = 256  # characters of a piece that is more than a word or a line
_MOST_KEPT = 64 * 1024  # characters of all pieces, because backticks take time to scan
_TOKEN = re.compile(r"`++|~++|\n|[^`~\n]++")
_PLAIN = re.compile(r"(?:[^`~\n]++|~~?+(?=[^~])|(?<!\\)`[^`\n]++`(?=[^`])|\n(?![ \t]*+`{3}))*+")
_TILDES = re.compile(r"~(?:~~|\Z)")  # what may open a fence
# List items and block quotations, which may nest.
_ITEM = re.compile(r"\s*+(?:(?:[-*+]|\d{1,9}+[.)])[ \t]++|>[ \t]*+)*+")
_PAIRS = {"“": "”", "„": "“", "«": "»", "»": "«", "‹": "›", "›": "‹", "「": "」", "『": "』"}
_MARKS = re.compile("[“”„«»‹›「」『』]")
APOSTROPHES = {"'": "'", "‘": "’"}
"""Quotation marks that are also apostrophes. They open only right in front of a call."""


class Quotes:
    """The open Markdown and quotation marks of one turn so far."""

    __slots__ = (
        "_closing",
        "_depth",
        "_escaped",
        "_fence",
        "_idle",
        "_info",
        "_kept",
        "_line",
        "_odd",
        "_off",
        "_run",
        "_spans",
    )

    def __init__(self) -> None:
        self._off = self._closing = self._escaped = self._odd = False
        self._fence = self._info = self._run = self._depth = 0
        self._spans: list[int] = []
        self._line = ""
        self._idle = True
        self._kept: list[str] = []

    @property
    def fence(self) -> str:
        """The character of the code fence that is open, or opens at the end of this line, or ""."""
        self._look()
        size = self._fence or self._info
        return _character(size) if size else ""

    @property
    def fenced(self) -> bool:
        """Whether a code fence is open, or opens at the end of this line."""
        return bool(self.fence)

    @property
    def spans(self) -> tuple[int, ...]:
        """The lengths of the open runs of backticks."""
        self._look()
        return tuple(self._spans)

    @property
    def running(self) -> bool:
        """Whether the text ends in backticks, so that following ones continue the run."""
        self._look()
        return self._run > 0

    @property
    def line(self) -> str:
        """The end of the text on this line."""
        self._look()
        return self._line[-_LINE:]

    def kind(self) -> str:
        """The name of the open mark, for messages."""
        fence, span, quotation = MENTIONED
        if self.fenced:
            return fence
        return span if self._spans else quotation

    def at_line_start(self) -> bool:
        """Whether only whitespace precedes this on its line."""
        self._look()
        return not self._run and not self._line[-_LINE:].strip()

    def marked(self) -> bool:
        """Whether Markdown is open where a marker begins."""
        self._look()
        self._end_run()
        if self._closing:
            self._fence, self._closing = 0, False
        return bool(self._fence or self._info or self._spans)

    def open(self) -> bool:
        """Whether Markdown or a quotation mark is open where a marker begins."""
        return self.marked() or bool(self.quote())

    def quote(self) -> str:
        """The closing mark of the quotation open on this line, or ""."""
        self._look()
        if not self._line:
            return ""
        if self._odd != self._line.count('"') % 2:
            return '"'
        closing, line = "", self._line[-_LINE:]
        for mark in () if line.isascii() else _MARKS.findall(line):
            closing = _PAIRS.get(mark, "") if not closing else closing.replace(mark, "")
        return closing or APOSTROPHES.get(line[-1:], "")

    def copy(self) -> Self:
        """Return a copy of the state, for lookahead."""
        self._look()
        other = type(self)()
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        other._spans, other._kept = [*self._spans], []
        return other

    def forget(self, line: str = "") -> None:
        """Reset after something that is not text. Markdown starts over after `line`."""
        self._kept.clear()
        self._fence = self._info = self._run = 0
        self._closing = self._escaped = False
        self._spans = []
        self._line, self._odd = line, False
        self._idle = True

    def close(self) -> None:
        """Close everything behind a mention, whatever backticks it contains."""
        self.forget(line="" if self.at_line_start() else "`")

    def skip(self, text: str) -> None:
        """Consume text whose backticks mean nothing."""
        self._look()
        if "\n" in text:
            self._newline()
        self._write(text)

    def give_up_fences(self) -> None:
        """Stop recognizing fences: one was never closed, so it was not a fence."""
        self._look()
        self._off = True
        self._fence = self._info = 0

    def see(self, text: str) -> None:
        """Consume the next piece of text."""
        self._kept.append(text)
        kept = len(self._kept)
        if kept > _KEPT or (kept > 1 and len(text) > _LONG and self._is_much()):
            self._look()

    def _is_much(self) -> bool:
        return sum(map(len, self._kept)) > _MOST_KEPT

    def _look(self) -> None:
        """Scan the buffered text."""
        if self._kept:
            text = "".join(self._kept)
            self._kept.clear()
            self._see(text)

    def _see(self, text: str) -> None:
        if self._idle and "`" not in text and not ("~" in text and _TILDES.search(text)):
            self._write(text)
            return
        pos = 0
        while pos < len(text):
            pos = self._skip(text, pos)
            if match := _TOKEN.match(text, pos):
                self._token(match.group())
                pos = match.end()
        self._idle = not (self._fence or self._info or self._run or self._spans)

    def _skip(self, text: str, pos: int) -> int:
        """Skip text without effect: spans closed on their line, or code in a fence."""
        if self._fence and not (self._run or self._closing):
            end = text.find(_character(self._fence), pos)
            end = len(text) if end < 0 else end
        elif self._fence or self._info or self._run or self._spans:
            return pos
        elif pos == 0 and self._line.endswith("\\"):
            return pos  # what it escapes is not plain
        else:
            end = _PLAIN.match(text, pos).end()  # type: ignore[union-attr]
        self._write(text[pos:end])
        return end

    def _write(self, text: str) -> None:
        """Add text to the line, or begin another one."""
        at = text.rfind("\n")
        if at < 0:
            self._line += text
        else:
            self._line, self._odd = text[at + 1 :], False
        if len(self._line) >= 2 * _LINE:
            self._cut()

    def _cut(self) -> None:
        """Keep the end of the line, and whether a quotation is open in front of it."""
        self._odd ^= self._line.count('"', 0, -_LINE) % 2 == 1
        self._line = self._line[-_LINE:]

    def see_to_close(self, text: str) -> int:
        """Consume text up to the end of the fence; -1 if it does not end here."""
        self._look()
        for match in _TOKEN.finditer(text):
            piece = match.group()
            if self._run > 0 and piece[0] != "`":
                self._end_run()
                if not self.fenced:
                    return match.start()
            self._token(piece)
            if not (self.fenced or self._run):
                return match.end()
        return -1

    def closed_at_end(self) -> bool:
        """Whether the end of the text closes the fence, perhaps cut off, or the span that resembled
        one."""
        self._look()
        begun = self._fence * self._run > 0 and not self._line.replace(">", "").strip()
        self._end_run()
        return begun or self._closing or not (self.fenced or self._spans)

    def _token(self, piece: str) -> None:
        if self._run and piece[0] != _character(self._run):
            self._end_run()
        if piece[0] in "`~":
            if not self._run:
                line = self._line
                self._escaped = (len(line) - len(line.rstrip("\\"))) % 2 == 1
            self._run += len(piece) if piece[0] == "`" else -len(piece)
            return
        if piece == "\n":
            self._newline()
            return
        if self._closing and not piece.isspace():
            self._closing = False
        self._line += piece
        if len(self._line) >= 2 * _LINE:
            self._cut()

    def _end_run(self) -> None:
        size, self._run = self._run, 0
        if not size:
            return
        before = self._line[-_LINE:]
        self._line += _character(size) * min(abs(size), _LINE)
        if self._fence:
            plain = not before.replace(">", "").strip()
            enough = size // self._fence > 0  # and of the same sign
            self._closing = enough and plain and before.count(">") == self._depth
            return
        if self._info < 0:
            return  # anything may follow tildes
        if abs(size) >= len(FENCE) and not self._off and _ITEM.fullmatch(before):
            self._info, self._depth = size, before.count(">")
        elif size > 0:
            self._info = 0
        if size > 0:
            self._span(size)

    def _span(self, size: int) -> None:
        spans = self._spans
        if size in spans:
            del spans[spans.index(size) :]
        elif (size := size - self._escaped) and len(spans) < _SPANS:
            spans.append(size)

    def _newline(self) -> None:
        if self._fence:
            self._fence = 0 if self._closing else self._fence
            self._closing = False
        elif self._info or not self._line[-_LINE:].strip():
            self._fence, self._info = self._info, 0
            self._spans = []
        self._line, self._odd = "", False


def _character(size: int) -> str:
    """Return what a run or fence of this size consists of."""
    return "`" if size > 0 else "~"
