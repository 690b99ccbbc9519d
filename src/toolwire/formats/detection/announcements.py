"""The markers with which an answer may begin that only one format writes.

`<|START_THINKING|>`, `<|channel>thought`, `<|channel|>`, `<longcat_think>` or `[THINK]` are no
words: an answer that begins with one is written in its format, long before a call shows it. So that
format reads the answer, and its markers around reasoning and text are not shown. Behind other text
the same marker may be an explanation, and is text. Plain tags and words (`<thinking>`,
`<response>`, "Here is my thought process:") announce nothing, because any model may have been asked
for them.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from toolwire.formats.catalog import FORMATS
from toolwire.formats.channels import Channels
from toolwire.formats.detection.detect import Detection
from toolwire.formats.lexer import Lexer
from toolwire.formats.markers import TURN_ENDS, MarkerSet
from toolwire.formats.reader import Need, Reader
from toolwire.formats.record import Format
from toolwire.formats.stripped import StrippableChannels

_SPACE = 64  # maximum whitespace before an answer
_NO_WORD = re.compile(r"<\w*+[|｜:]|<[a-z]++_|\[[A-Z_]++\]")
_ROLE = "assistant"
R = TypeVar("R")


class _Announcements(NamedTuple):
    """The format that each marker announces. A loose one may have to carry a tail to be no word."""

    lexer: Lexer
    records: dict[str, Format]


class AnswerBeginning(Generic[R]):
    """Reads the beginning of an answer, until it is certain whether it announces a format.

    `expected` is the format that reads the answer otherwise, if any: its own markers announce
    nothing new. `make` makes the reader of another one.
    """

    __slots__ = ("_expected", "_make", "announced", "text")

    def __init__(self, expected: Format | None, make: Callable[[Format], R]) -> None:
        self.text = ""
        """The text so far, all of which is still to be read."""
        self.announced: tuple[R, Detection] | None = None
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
        if begun and begun[0] not in announcements().lexer.firsts:
            return True
        reader = Reader()
        reader.add(begun)
        reader.final = final
        return next(self._read(reader), self) is self

    def _read(self, reader: Reader) -> Need[None]:
        table = announcements()
        marker, size = yield from table.lexer.at(reader)
        record = table.records.get(marker)
        if record is not None and self._is_news(record, marker, reader.buf[:size]):
            why = f"the answer begins with {marker!r}"
            self.announced = self._make(record), Detection(record.name, why)

    def _is_news(self, record: Format, marker: str, written: str) -> bool:
        """Whether a marker shows that the answer is not in the expected format."""
        loose = marker in announcements().lexer.loose
        if loose and not _NO_WORD.match(written):
            return False
        if self._expected is None:
            return True
        own = self._expected.framing
        return record.framing is not own and (loose or not marker.startswith(own.markers()))


@lru_cache(maxsize=1)
def announcements() -> _Announcements:
    """Return the announcements of all formats. Built once, in about 0.05 s."""
    owners: dict[str, set[int]] = {}
    for record in FORMATS.values():
        for marker in record.framing.markers():
            owners.setdefault(marker, set()).add(id(record.framing))
    records: dict[str, Format] = {}
    loose: set[str] = set()
    for record in FORMATS.values():
        for marker in _headers(record.framing, owners):
            records.setdefault(marker, record)
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


def _headers(framing: object, owners: dict[str, set[int]]) -> Iterator[str]:
    """Yield the beginnings of messages that only message formats write: they contain a token."""
    if not isinstance(framing, Channels):
        return
    inner = [marker for marker in framing.inner if _NO_WORD.search(marker)]
    if isinstance(framing, StrippableChannels):  # the token alone may be what the answer is about
        channels = (*framing.words.channels, framing.words.last)
        yield from (f"{marker}{channel}" for marker in inner for channel in channels)
    else:
        yield from (marker for marker in inner if len(owners[marker]) == 1)
    yield from filter(_NO_WORD.search, framing.first)
    for start in framing.starts:
        if len(owners[start]) > 1:
            yield from (f"{start}{_ROLE}{space}{marker}" for space in ("", " ") for marker in inner)
        elif _NO_WORD.match(start) and start not in framing.quotable:
            yield start
