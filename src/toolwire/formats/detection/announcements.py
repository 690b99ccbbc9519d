"""The markers with which an answer may begin that only one format writes.

`<|START_THINKING|>`, `<|channel>thought` or `[THINK]` are no words: an answer that begins with one
is written in its format, long before a call shows it. So that format reads the answer, and its
markers around reasoning and text are not shown. Behind other text the same marker may be an
explanation, and is text. Plain tags and words (`<thinking>`, `<response>`, "Here is my thought
process:") announce nothing, because any model may have been asked for them.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from toolwire.formats.catalog import FORMATS
from toolwire.formats.detection.detect import Detection
from toolwire.formats.lexer import Lexer
from toolwire.formats.markers import TURN_ENDS, MarkerSet
from toolwire.formats.reader import Need, Reader
from toolwire.formats.record import Format
from toolwire.formats.text_reader import MarkedReader

_SPACE = 64  # maximum whitespace before an answer
_NO_WORD = re.compile(r"<\w*+[|｜:]|\[[A-Z_]++\]")


class _Announcements(NamedTuple):
    """The format that each marker announces. A loose one may have to carry a tail to be no word."""

    lexer: Lexer
    records: dict[str, Format]


class AnswerBeginning:
    """Reads the beginning of an answer, until it is certain whether it announces a format.

    `expected` is the format that reads the answer otherwise: its own markers announce nothing new.
    `make` makes the reader of another one.
    """

    __slots__ = ("_expected", "_make", "announced", "text")

    def __init__(self, expected: Format, make: Callable[[Format], MarkedReader]) -> None:
        self.text = ""
        """The text so far, all of which is still to be read."""
        self.announced: tuple[MarkedReader, Detection] | None = None
        """The reader of the announced format, and why."""
        self._expected = expected
        self._make = make

    @property
    def waiting(self) -> bool:
        """Whether more than whitespace is held back."""
        return bool(self.text.strip())

    def feed(self, text: str, *, final: bool = False) -> bool:
        """Consume the next piece. True once it is certain."""
        self.text += text
        begun = self.text.lstrip()
        if len(self.text) - len(begun) > _SPACE:
            return True
        if begun and begun[0] not in _announcements().lexer.firsts:
            return True
        reader = Reader()
        reader.add(begun)
        reader.final = final
        return next(self._read(reader), self) is self

    def _read(self, reader: Reader) -> Need[None]:
        table = _announcements()
        marker, size = yield from table.lexer.at(reader)
        record = table.records[marker] if _NO_WORD.match(reader.buf[:size]) else self._expected
        if record.framing is not self._expected.framing:
            why = f"the answer begins with {marker!r}"
            self.announced = self._make(record), Detection(record.name, why)


@lru_cache(maxsize=1)
def _announcements() -> _Announcements:
    owners: dict[str, set[int]] = {}
    for record in FORMATS.values():
        for marker in record.framing.markers():
            owners.setdefault(marker, set()).add(id(record.framing))
    records: dict[str, Format] = {}
    loose: set[str] = set()
    for record in FORMATS.values():
        for marker, is_loose in _around(record.framing):
            no_word = _NO_WORD.match(marker) and not marker.startswith(TURN_ENDS)
            if is_loose or (no_word and len(owners[marker]) == 1):
                records.setdefault(marker, record)
                loose |= {marker} if is_loose else set()
    return _Announcements(Lexer(dict.fromkeys(records, "announced"), loose), records)


def _around(framing: object) -> Iterator[tuple[str, bool]]:
    """Yield the markers around text and reasoning, and whether each is loose."""
    if isinstance(framing, MarkerSet):
        openings = (one for around in framing.reasoning for one in around.opens)
        for marker in (*framing.drop, *openings):
            yield marker, marker in framing.loose
