"""Text that is read in the model's format: calls in it are promoted to calls.

Stands where `NativeTurn` stands and is built on it, so that native calls and calls found in text
come out of one place, numbered together. Used for backends without tools (the prompt taught the
model its format) and for those whose own parser lets calls through as text.
"""

from collections.abc import Callable

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
        self._of_text: dict[int, int] = {}
        self._of_native: dict[int, int] = {}
        self._open = False
        self._waiting: list[Event] = []

    @property
    def repairs(self) -> set[str]:
        """What was mended."""
        return self._native.repairs

    def feed(self, fragment: Fragment) -> list[Event]:
        """Take what the backend said next."""
        out: list[Event] = []
        for event in self._native.feed(fragment):
            if isinstance(event, TextDelta):
                self._from_text(self._parser.feed(event.text), out)
            else:
                self._from_native(event, out)
        return out

    def finish(self, *, done: bool) -> list[Event]:
        """The answer is over."""
        out: list[Event] = []
        rest = self._native.finish(done=done)
        for event in rest:
            if isinstance(event, TurnEnd):
                self._from_text(self._parser.finish(), out)
                self._open = False
                self._release(out)
            self._from_native(event, out)
        return out

    def _from_text(self, events: list[Event], out: list[Event]) -> None:
        for event in events:
            if isinstance(event, CallStart):
                self._open = True
                if self._promoting:
                    self._native.repairs.add("call_promoted_from_text")
            out.append(self._numbered(event, self._of_text))
            if isinstance(event, CallEnd):
                self._open = False
                self._release(out)

    def _from_native(self, event: Event, out: list[Event]) -> None:
        """Calls never overlap: while one is being read from text, native ones wait."""
        if self._open and isinstance(event, (CallStart, ArgsDelta, CallEnd)):
            self._waiting.append(event)
        else:
            out.append(self._numbered(event, self._of_native))

    def _release(self, out: list[Event]) -> None:
        waiting, self._waiting = self._waiting, []
        out.extend(self._numbered(event, self._of_native) for event in waiting)

    def _numbered(self, event: Event, known: dict[int, int]) -> Event:
        if isinstance(event, CallStart):
            known[event.index] = self._next
            self._next += 1
            call_id = event.call_id or self._new_call_id()
            return CallStart(known[event.index], event.name, call_id, event.provider_id, event.kind)
        if isinstance(event, ArgsDelta):
            return ArgsDelta(known[event.index], event.json)
        if isinstance(event, CallEnd):
            return CallEnd(known[event.index], event.complete)
        return event
