"""The interface of text readers: a format's parser, or a wrapper around one."""

from typing import Protocol

from toolwire.protocol.events import Event


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
