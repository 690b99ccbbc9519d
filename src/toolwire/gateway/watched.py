"""Text that is read in the model's format: calls in it are promoted to calls.

Stands where `NativeTurn` stands and is built on it, so that native calls and calls found in text
come out of one place, numbered together. Used for backends without tools (the prompt taught the
model its format) and for those whose own parser lets calls through as text.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from toolwire.formats import Parser
from toolwire.gateway.native import NativeTurn
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    TextDelta,
    TurnEnd,
)
from toolwire.protocol.fragments import Fragment

_CallEvent: TypeAlias = CallStart | ArgsDelta | CallEnd
_CALL_EVENTS = (CallStart, ArgsDelta, CallEnd)


@dataclass(slots=True, eq=False)
class _Source:
    """Where calls come from: the numbers they have been given, and what cannot go out yet."""

    numbers: dict[int, int] = field(default_factory=dict)
    waiting: deque[_CallEvent] = field(default_factory=deque)


class WatchedTurn:
    """One choice of one answer. `promoting`: the backend should have found the calls itself."""

    def __init__(
        self,
        native: NativeTurn,
        parser: Parser,
        new_call_id: Callable[[], str],
        *,
        promoting: bool = True,
    ) -> None:
        self._promoting = promoting
        self._native = native
        self._parser = parser
        self._new_call_id = new_call_id
        self._next = 0
        self._logprobs: list[bytes] = []
        self._in_text = _Source()
        self._by_backend = _Source()
        self._calling: _Source | None = None

    @property
    def repairs(self) -> set[str]:
        """What was mended."""
        return self._native.repairs

    def feed(self, fragment: Fragment) -> list[Event]:
        """Take what the backend said next."""
        out: list[Event] = []
        for event in self._native.feed(fragment):
            self._from_native(event, out)
        return out

    def finish(self, *, done: bool) -> list[Event]:
        """The answer is over."""
        out: list[Event] = []
        for event in self._native.finish(done=done):
            if isinstance(event, TurnEnd):
                self._from_text(self._parser.finish(), out)
            self._from_native(event, out)
        return out

    def _from_native(self, event: Event, out: list[Event]) -> None:
        if isinstance(event, TextDelta):
            if event.logprobs:
                self._logprobs.append(event.logprobs)
            self._from_text(self._parser.feed(event.text), out)
        elif isinstance(event, _CALL_EVENTS):
            self._take(event, self._by_backend, out)
        else:
            out.append(event)

    def _from_text(self, events: list[Event], out: list[Event]) -> None:
        for event in events:
            if isinstance(event, _CALL_EVENTS):
                if self._promoting:
                    self._native.repairs.add("call_promoted_from_text")
                self._logprobs = []  # those of a call's tokens are not part of an answer
                self._take(event, self._in_text, out)
            elif self._logprobs and isinstance(event, TextDelta):
                out.append(TextDelta(event.text, _joined(self._logprobs)))
                self._logprobs = []
            else:
                out.append(event)

    def _take(self, event: _CallEvent, source: _Source, out: list[Event]) -> None:
        """Calls never overlap: while one of one source is open, those of the other wait."""
        if self._calling not in (None, source):
            source.waiting.append(event)
            return
        self._send(event, source, out)
        if self._calling is None:
            self._send_waiting(out)

    def _send_waiting(self, out: list[Event]) -> None:
        for source in (self._in_text, self._by_backend):
            while source.waiting and self._calling in (None, source):
                self._send(source.waiting.popleft(), source, out)

    def _send(self, event: _CallEvent, source: _Source, out: list[Event]) -> None:
        out.append(self._numbered(event, source.numbers))
        self._calling = None if isinstance(event, CallEnd) else source

    def _numbered(self, event: _CallEvent, numbers: dict[int, int]) -> Event:
        if isinstance(event, CallStart):
            numbers[event.index] = number = self._next
            self._next += 1
            call_id = event.call_id or self._new_call_id()
            return CallStart(number, event.name, call_id, event.provider_id, event.kind)
        if isinstance(event, ArgsDelta):
            return ArgsDelta(numbers[event.index], event.json)
        return CallEnd(numbers[event.index], event.complete)


def _joined(logprobs: list[bytes]) -> bytes:
    """The logprobs of several deltas whose text comes out as one."""
    if len(logprobs) == 1:
        return logprobs[0]
    parts = [msgspec.json.decode(raw, type=dict[str, Any]) for raw in logprobs]
    tokens = [token for part in parts for token in part.get("content") or ()]
    return msgspec.json.encode({**parts[-1], "content": tokens})
