"""The text of one turn as an engine sees it: as if all of it were there.

An engine is a generator. It looks at `buf` from `pos` on, moves `pos` over what it has taken, and
says `yield` when it needs more; afterwards `buf` and `pos` have changed and must be read again.
What has been taken is forgotten, so memory and time stay linear, unless a `mark` is set: then
`raw()` gives back all text since the mark, which is how a span that turns out not to be a call
becomes text again. This module knows nothing about formats.
"""

import re
from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Need: TypeAlias = Generator[None, None, T]

_SPACE = re.compile(r"\s*+")


class Reader:
    """Text that grows while it is read.

    `tidy` until something in it was not as expected: who has a fast way that costs much when it
    fails takes it only then, so that it fails once in a turn.
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
        """Append `text` and forget what was taken."""
        pos = self.pos
        if self._mark >= 0:
            self._kept.append(self.buf[self._mark : pos])
            self._mark = 0
        self.buf = self.buf[pos:] + text
        self._base += pos
        self.pos = 0

    @property
    def offset(self) -> int:
        """How many characters of the turn have been taken."""
        return self._base + self.pos

    @property
    def waiting(self) -> bool:
        """Whether there is more than white space that was not taken, or may be given back."""
        rest = self.buf[self._mark if self._mark >= 0 else self.pos :]
        return not (rest.isspace() or not rest) or any(map(str.strip, self._kept))

    def mark(self) -> None:
        """Remember everything from here on."""
        self._kept = []
        self._mark = self.pos

    def unmark(self) -> None:
        """Stop remembering."""
        self._kept = []
        self._mark = -1

    def raw(self) -> str:
        """Everything taken since the mark; the mark is removed."""
        text = "".join(self._kept) + self.buf[self._mark : self.pos]
        self.unmark()
        return text

    def held(self) -> int:
        """How many characters are kept, taken since the mark or not taken at all."""
        start = self._mark if self._mark >= 0 else self.pos
        return sum(map(len, self._kept)) + len(self.buf) - start

    def give_back(self, text: str) -> None:
        """Take back the taking of `text`, which was the last to be taken."""
        size = len(text)
        if size <= self.pos:
            self.pos -= size
            return
        self._base += self.pos - size
        self.buf, self.pos = text + self.buf[self.pos :], 0


def skip_space(reader: Reader, limit: int) -> Need[str]:
    """Take at most `limit` characters of whitespace and return the next character, not taken.

    Returns "" at the end of the text, and " " when there was more, one character of which is taken.
    """
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
    """The next `count` characters, not taken; fewer only at the end of the text."""
    while len(reader.buf) - reader.pos < count and not reader.final:
        yield
    return reader.buf[reader.pos : reader.pos + count]
