"""Merges calls from two sources, native and text, into one sequence without overlaps.

Some servers leave the text of a call that they also make. So a call of a tool that the other source
has called is held until its end, and dropped if it repeats a call of the other source.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import msgspec

from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TextDelta
from toolwire.protocol.json_numbers import decode_any

CallEvent: TypeAlias = CallStart | ArgsDelta | CallEnd
CALL_EVENTS = (CallStart, ArgsDelta, CallEnd)


class MadeCall(msgspec.Struct, eq=False, dict=True):
    """A call that was sent or is being sent, and the pieces of its arguments."""

    name: str
    pieces: list[str] = []

    @cached_property
    def arguments(self) -> str:
        """The arguments, which are complete, however they are written."""
        text = "".join(self.pieces) or "{}"
        try:
            return json.dumps(decode_any(text), sort_keys=True)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return text


@dataclass(slots=True, eq=False)
class _Source:
    """A source of calls: the indexes that they were given, the events that must wait, and the calls
    that the other source has not repeated."""

    numbers: dict[int, int] = field(default_factory=dict)
    waiting: deque[CallEvent | TextDelta] = field(default_factory=deque)
    made: list[MadeCall] = field(default_factory=list)


class CallSequencer:
    """Starts after `begun` native calls, the last of which is still open if `calling`."""

    def __init__(
        self,
        begun: Iterable[MadeCall],
        *,
        calling: bool,
        new_call_id: Callable[[], str],
        repairs: set[str],
    ) -> None:
        self._new_call_id = new_call_id
        self._repairs = repairs
        made = list(begun)
        self._next = len(made)
        self._in_text = _Source()
        self._by_backend = _Source({index: index for index in range(len(made))}, made=made)
        self._held: list[Event] | None = None
        """The events of the current call, if it may be a repetition."""
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
        other = self._in_text if source is self._by_backend else self._by_backend
        if isinstance(event, CallStart):
            self._held = [] if any(call.name == event.name for call in other.made) else None
            source.made.append(MadeCall(event.name))
        elif isinstance(event, ArgsDelta):
            source.made[-1].pieces.append(event.json)
        (out if self._held is None else self._held).append(self._numbered(event, source.numbers))
        self._calling = source
        if isinstance(event, CallEnd):
            self._calling = None
            repeated = self._ends_repeated(event, source.made, other.made)
            if self._held is not None and not repeated:
                out += self._held
            self._held = None

    def _ends_repeated(self, end: CallEnd, made: list[MadeCall], other: list[MadeCall]) -> bool:
        """Whether the call that ends repeats one of the other source. Then both are paired."""
        call = made[-1]
        if end.unread or not end.complete:
            del made[-1]
            return False
        if self._held is None:
            return False
        for at, earlier in enumerate(other):
            if earlier.name == call.name and earlier.arguments == call.arguments:
                del made[-1], other[at]
                self._next -= 1
                self._repairs.add("call_repeated")
                return True
        return False

    def _numbered(self, event: CallEvent, numbers: dict[int, int]) -> Event:
        if isinstance(event, CallStart):
            numbers[event.index] = number = self._next
            self._next += 1
            call_id = event.call_id or self._new_call_id()
            return CallStart(number, event.name, call_id, event.provider_id, event.kind)
        if isinstance(event, ArgsDelta):
            return ArgsDelta(numbers[event.index], event.json)
        return CallEnd(numbers[event.index], event.complete, event.unread, event.cut)
