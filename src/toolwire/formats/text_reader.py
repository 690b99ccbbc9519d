"""The interface of text readers: a format's parser, a wrapper around one, or none."""

import re
from typing import Protocol

from toolwire.protocol.events import Event, TextDelta


class TextReader(Protocol):
    """Turns the text of a turn into events."""

    def feed(self, text: str) -> list[Event]:
        """Return the events that the next piece of text makes certain."""
        ...

    def finish(self) -> list[Event]:
        """Return the events that only the end of the turn makes certain."""
        ...

    @property
    def idle(self) -> bool:
        """Whether no text that was fed may still become a call or a marker."""
        ...


class MarkedReader(TextReader, Protocol):
    """A text reader whose format has markers."""

    @property
    def marker(self) -> re.Pattern[str]:
        """What matches any marker in a text."""
        ...

    @property
    def mark(self) -> str:
        """A character of every marker, which is found faster; "" if there is none."""
        ...


class PlainText:
    """Reads text of no format: all of it is text."""

    idle = True
    """See `TextReader.idle`."""
    marker = re.compile(r"(?!)")
    """See `MarkedReader.marker`."""
    mark = "\0"
    """See `MarkedReader.mark`."""

    def feed(self, text: str) -> list[Event]:
        """See `TextReader.feed`."""
        return [TextDelta(text)]

    def finish(self) -> list[Event]:
        """See `TextReader.finish`."""
        return []
