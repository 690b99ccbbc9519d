"""Whether the text being read is a quotation: a call in a code fence or in `backticks` is none.

A fence ends at a run of backticks at least as long as the one that opened it. Backticks within a
line belong together in pairs; a line's end settles the matter, so that one too many cannot hide
the calls behind it.
"""

import re
from collections.abc import Callable

from toolwire.formats.reader import Need, Reader

FENCE = "```"
_TICKS = re.compile(r"`*+")


class Quotes:
    """What is quoted, as far as one turn has been read."""

    __slots__ = ("_ticks", "fenced")

    def __init__(self) -> None:
        self.fenced = 0
        """How many backticks the code fence has that is open; 0 if none is."""
        self._ticks = 0

    @property
    def inline(self) -> bool:
        """Whether the text stands between two backticks, as far as its line shows."""
        return self._ticks % 2 == 1

    def see(self, text: str) -> None:
        """Take the next piece of text."""
        _, newline, line = text.rpartition("\n")
        self._ticks = (0 if newline else self._ticks) + line.count("`")

    def forget(self) -> None:
        """Something came that is no text: a line begins."""
        self._ticks = 0

    def open(self) -> None:
        """A code fence was taken together with something else."""
        self.fenced = len(FENCE)

    def pass_fence(self, reader: Reader, take: Callable[[int], None]) -> Need[None]:
        """At a code fence, which is given to `take`: it opens one, or ends the one that is open."""
        run = 0
        while True:
            ticks = len(_TICKS.match(reader.buf, reader.pos).group())  # type: ignore[union-attr]
            take(ticks)
            run += ticks
            if reader.pos < len(reader.buf) or reader.final:
                break
            yield
        self.forget()
        if not self.fenced:
            self.fenced = run
        elif run >= self.fenced:
            self.fenced = 0
