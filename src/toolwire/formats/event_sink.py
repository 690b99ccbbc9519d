"""Collects a parser's output: joins pieces into events and decides when a call is sent.

`live`: a call is sent as it is read. Otherwise it is staged, and sent when it, or its group, is
complete. Staged calls can be discarded without a trace. `reporting`: a call that cannot be read is
reported with its text, instead of being text.
"""

from collections.abc import Callable

from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, ReasoningDelta, TextDelta

_TEXT, _REASONING, _ARGS = range(3)


class EventSink:
    """Collects the events of one turn. `take` returns those that are ready."""

    __slots__ = (
        "_count",
        "_direct",
        "_events",
        "_groups",
        "_kind",
        "_parts",
        "_staged",
        "args",
        "blank",
        "live",
        "reporting",
    )

    def __init__(self, *, live: bool, reporting: bool = False) -> None:
        self.live = live
        self.reporting = reporting
        self.blank = True  # only whitespace has been written so far
        self._direct = live
        self._groups = 0
        self._events: list[Event] = []
        self._staged: list[Event] = []
        self._parts: list[str] = []
        self._kind = _TEXT
        self._count = 0
        self.args: Callable[[str], None] = self._parts.append
        """Adds the next piece of the current call's arguments."""

    @property
    def calls(self) -> int:
        """The number of calls so far."""
        return self._count

    @property
    def held(self) -> bool:
        """Whether calls are staged until a group is released."""
        return self._groups > 0

    @property
    def open(self) -> bool:
        """Whether a call has begun that has not ended or was not sent."""
        return self._kind == _ARGS or bool(self._staged)

    def take(self) -> list[Event]:
        """Return the events since the last call of `take`."""
        if self._parts and (self.live or self._kind != _ARGS):
            self._flush()
        events = self._events
        self._events = []
        return events

    def text(self, text: str) -> None:
        """Add the next piece of the answer."""
        if text:
            if self._kind != _TEXT:
                self._become(_TEXT)
            self._parts.append(text)
            if self.blank and not text.isspace():
                self.blank = False

    def reasoning(self, text: str) -> None:
        """Add the next piece of reasoning."""
        if text:
            if self._kind != _REASONING:
                self._become(_REASONING)
            self._parts.append(text)

    def start(self, name: str, provider_id: str | None = None) -> None:
        """Start a call."""
        self._flush()
        self._kind = _ARGS
        self._call_events().append(CallStart(self._count, name, provider_id=provider_id))
        self._count += 1

    def end(self, *, complete: bool = True) -> None:
        """End the current call."""
        self._flush()
        self._kind = _TEXT
        self.blank = False
        self._call_events().append(CallEnd(self._count - 1, complete))
        if not self._groups:
            self._commit()

    def hold(self) -> None:
        """Stage calls from here on, in any delivery mode, until `release` or `drop`."""
        self._groups += 1
        self.live = False

    def release(self) -> None:
        """Send the calls staged since `hold`."""
        self._leave()
        self._commit()

    def unread(self, name: str, text: str, *, cut: bool) -> None:
        """Report a call that cannot be read, and its text."""
        self.start(name)
        self._kind = _TEXT
        self.blank = False
        self._call_events().append(CallEnd(self._count - 1, complete=False, unread=text, cut=cut))
        self._commit()

    def take_back(self) -> str:
        """Discard the staged call that was started. Return its name."""
        self._parts.clear()
        self._kind = _TEXT
        self._count -= 1
        while type(last := self._staged.pop()) is not CallStart:
            pass
        return last.name

    def drop(self) -> None:
        """Discard the calls staged since `hold`."""
        self._leave()
        self._count -= sum(type(event) is CallStart for event in self._staged)
        self._staged = []

    def _leave(self) -> None:
        self._groups -= 1
        self.live = self._direct and not self._groups

    def _commit(self) -> None:
        if self._staged:
            self._events += self._staged
            self._staged = []

    def _call_events(self) -> list[Event]:
        return self._events if self.live else self._staged

    def _become(self, kind: int) -> None:
        self._flush()
        self._kind = kind

    def _flush(self) -> None:
        joined = "".join(self._parts)
        self._parts.clear()
        if not joined:
            return
        if self._kind == _TEXT:
            self._events.append(TextDelta(joined))
        elif self._kind == _REASONING:
            self._events.append(ReasoningDelta(joined))
        else:
            events = self._events if self.live else self._staged
            events.append(ArgsDelta(self._count - 1, joined))
