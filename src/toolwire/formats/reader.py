"""The text of one turn as an engine sees it: as if it were complete.

An engine is a generator. It looks at `buf` from `pos` on, moves `pos` past consumed text, and
yields when it needs more. Afterwards `buf` and `pos` have changed and must be read again. Consumed
text is discarded, so memory and time stay linear, unless a `mark` is set. Then `raw()` returns all
text since the mark, so that a span that is not a call can become text again. This module knows
nothing about formats.
"""

import re
from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Need: TypeAlias = Generator[None, None, T]

_SPACE = re.compile(r"\s*+")


class Reader:
    """Text that grows while it is read.

    `tidy` stays set until something unexpected occurs. Fast paths that are expensive when they fail
    run only while it is set, so that they fail at most once per turn.
    """

    __slots__ = ("_base", "_kept", "_mark", "buf", "final", "pos", "tidy")

    def __init__(self) -> None:
        self.buf = ""
        self.pos = 0
        self.final = False
        self.tidy = True
        self._base = 0
        self._mark = -1
        self._kept: list[str] = []

    def add(self, text: str) -> None:
        """Append `text` and discard consumed text."""
        pos, buf = self.pos, self.buf
        if self._mark >= 0:
            self._kept.append(buf[self._mark : pos])
            self._mark = 0
        if pos:
            buf = buf[pos:]
        self.buf = ""  # the only reference is `buf`: CPython then appends without a copy
        buf += text
        self.buf = buf
        self._base += pos
        self.pos = 0

    @property
    def offset(self) -> int:
        """The number of consumed characters of the turn."""
        return self._base + self.pos

    @property
    def waiting(self) -> bool:
        """Whether unconsumed or marked text contains more than whitespace."""
        rest = self.buf[self._mark if self._mark >= 0 else self.pos :]
        return not (rest.isspace() or not rest) or any(map(str.strip, self._kept))

    def mark(self) -> None:
        """Keep all text from here on."""
        self._kept = []
        self._mark = self.pos

    def unmark(self) -> None:
        """Stop keeping text."""
        self._kept = []
        self._mark = -1

    def raw(self) -> str:
        """Return all text consumed since the mark, and remove the mark."""
        text = "".join(self._kept) + self.buf[self._mark : self.pos]
        self.unmark()
        return text

    def held(self) -> int:
        """The number of buffered characters, consumed since the mark or not at all."""
        start = self._mark if self._mark >= 0 else self.pos
        return sum(map(len, self._kept)) + len(self.buf) - start

    def give_back(self, text: str) -> None:
        """Put `text`, the last text consumed, back into the buffer."""
        size = len(text)
        if size <= self.pos:
            self.pos -= size
            return
        self._base += self.pos - size
        self.buf, self.pos = text + self.buf[self.pos :], 0


def skip_space(reader: Reader, limit: int) -> Need[str]:
    """Consume up to `limit` characters of whitespace and peek at the next character.

    Returns "" at the end of the text. Returns " " if there is more whitespace, and consumes one
    character of it.
    """
    char = reader.buf[reader.pos : reader.pos + 1]
    if char and not char.isspace():
        return char
    while True:
        match = _SPACE.match(reader.buf, reader.pos, reader.pos + limit + 1)
        end = match.end() if match else reader.pos
        limit -= end - reader.pos
        reader.pos = end
        if limit < 0:
            return " "
        if end < len(reader.buf):
            return reader.buf[end]
        if reader.final:
            return ""
        yield


def peek(reader: Reader, count: int) -> Need[str]:
    """Peek at the next `count` characters; fewer only at the end of the text."""
    while len(reader.buf) - reader.pos < count and not reader.final:
        yield
    return reader.buf[reader.pos : reader.pos + count]
