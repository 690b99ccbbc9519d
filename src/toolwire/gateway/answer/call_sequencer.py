"""Merges calls from two sources, native and text, into one sequence without overlaps."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TextDelta

CallEvent: TypeAlias = CallStart | ArgsDelta | CallEnd
CALL_EVENTS = (CallStart, ArgsDelta, CallEnd)


@dataclass(slots=True, eq=False)
class _Source:
    """A source of calls: the indexes that they were given, and the events that must wait."""

    numbers: dict[int, int] = field(default_factory=dict)
    waiting: deque[CallEvent | TextDelta] = field(default_factory=deque)


class CallSequencer:
    """Starts after `begun` native calls, the last of which is still open if `calling`."""

    def __init__(self, begun: int, *, calling: bool, new_call_id: Callable[[], str]) -> None:
        self._new_call_id = new_call_id
        self._next = begun
        self._in_text = _Source()
        self._by_backend = _Source({index: index for index in range(begun)})
        self._calling = self._by_backend if calling else None
        self._unread = False  # a call that cannot be read is waiting

    def from_backend(self, event: CallEvent, out: list[Event]) -> None:
        """Add an event of a native call."""
        self._take(event, self._by_backend, out)

    def from_text(self, event: CallEvent, out: list[Event]) -> None:
        """Add an event of a call found in the text."""
        self._take(event, self._in_text, out)

    def text(self, event: TextDelta, out: list[Event]) -> None:
        """Add text. It waits behind a call that cannot be read, which is text, too."""
        if self._unread:
            self._in_text.waiting.append(event)
        else:
            out.append(event)

    def _take(self, event: CallEvent, source: _Source, out: list[Event]) -> None:
        """Send or queue an event. While a call of one source is open, the other source waits."""
        if self._calling not in (None, source):
            source.waiting.append(event)
            self._unread = self._unread or (isinstance(event, CallEnd) and bool(event.unread))
            return
        self._send(event, source, out)
        if self._calling is None:
            self._send_waiting(out)

    def _send_waiting(self, out: list[Event]) -> None:
        for source in (self._in_text, self._by_backend):
            while source.waiting and self._calling in (None, source):
                self._send(source.waiting.popleft(), source, out)
        self._unread = self._unread and bool(self._in_text.waiting)

    def _send(self, event: CallEvent | TextDelta, source: _Source, out: list[Event]) -> None:
        if isinstance(event, TextDelta):
            out.append(event)
            return
        out.append(self._numbered(event, source.numbers))
        self._calling = None if isinstance(event, CallEnd) else source

    def _numbered(self, event: CallEvent, numbers: dict[int, int]) -> Event:
        if isinstance(event, CallStart):
            numbers[event.index] = number = self._next
            self._next += 1
            call_id = event.call_id or self._new_call_id()
            return CallStart(number, event.name, call_id, event.provider_id, event.kind)
        if isinstance(event, ArgsDelta):
            return ArgsDelta(numbers[event.index], event.json)
        return CallEnd(numbers[event.index], event.complete, event.unread, event.cut)
