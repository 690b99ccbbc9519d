"""What turns a turn's text into events: a format's parser, or something around one."""

from typing import Protocol

from toolwire.protocol.events import Event


class TextReader(Protocol):
    """What turns a turn's text into events."""

    def feed(self, text: str) -> list[Event]:
        """The events that the next piece of the turn makes certain."""
        ...

    def finish(self) -> list[Event]:
        """The events that only the end of the turn makes certain."""
        ...

    @property
    def idle(self) -> bool:
        """Whether nothing of what was fed may be a call, or part of a marker."""
        ...
