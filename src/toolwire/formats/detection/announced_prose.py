"""Reads an answer without calls in whatever format it begins with.

Where nothing may be called, an answer in an unknown format is text, unless it begins with a marker
that only one format writes (`announcements.py`). Once that is certain, plain text needs no reader
any more.
"""

from collections.abc import Callable

from toolwire.formats.detection.announcements import AnswerBeginning
from toolwire.formats.detection.detect import Detection
from toolwire.formats.record import Format
from toolwire.formats.text_reader import TextReader
from toolwire.protocol.events import Event, TextDelta


class AnnouncedProse:
    """Reads one turn. `make` makes the reader of an announced format, of which `found` is told."""

    __slots__ = ("_beginning", "_found", "_reader", "plain")

    def __init__(
        self, make: Callable[[Format], TextReader], found: Callable[[Detection], None]
    ) -> None:
        self.plain = False
        """Whether the rest of the turn is plain text."""
        self._beginning = AnswerBeginning(None, make)
        self._found = found
        self._reader: TextReader | None = None

    @property
    def idle(self) -> bool:
        """See `TextReader.idle`. Always true: lost text cannot corrupt a call."""
        return True

    def feed(self, text: str) -> list[Event]:
        """See `TextReader.feed`."""
        if self._reader is not None:
            return self._reader.feed(text)
        if self.plain:
            return [TextDelta(text)]
        return self._open() if self._beginning.feed(text) else []

    def finish(self) -> list[Event]:
        """See `TextReader.finish`."""
        undecided = not self.plain and self._reader is None
        events = self._open() if undecided and self._beginning.feed("", final=True) else []
        return [*events, *(self._reader.finish() if self._reader is not None else ())]

    def _open(self) -> list[Event]:
        """Read the beginning, once it is certain whether it announces a format."""
        beginning = self._beginning
        if beginning.announced is None:
            self.plain = True
            return [TextDelta(beginning.text)] if beginning.text else []
        self._reader, detection = beginning.announced
        self._found(detection)
        return self._reader.feed(beginning.text)
