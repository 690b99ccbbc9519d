"""Enforces tool_choice and parallel_tool_calls on the events.

It also decides the finish reason, and drops white space next to calls. No other code does either,
so streamed and buffered answers agree.
"""

import re
from collections.abc import Collection, Mapping

import msgspec

from toolwire.errors import Place, ToolChoiceUnmet, UpstreamError
from toolwire.gateway.answer.held import HeldEvents
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    FinishReason,
    TextDelta,
    TurnEnd,
)
from toolwire.protocol.fragments import MOST_CALLS
from toolwire.protocol.names import resolve
from toolwire.protocol.tools import ToolChoice

_LOOKED = 64 * 1024
"""Characters at each end of a text that are searched for names of tools."""
_PROSE = 400
"""Characters without the required call after which none is expected."""
_MARKED = re.compile(r"(?<![\s\w])[\w-]++")
"""A word after a symbol or at the start, like a tool's name in every call format."""


class Policy(msgspec.Struct, eq=False):
    """Filters one choice. Calls that are not allowed are dropped and reported.

    `final`: the model will not be asked again.
    """

    choice: ToolChoice
    parallel: bool
    tools: Collection[str] = ()
    aliases: Mapping[str, str] = {}
    final: bool = True
    repairs: set[str] = set()
    calls: int = 0
    _unread: int = 0
    _kept: dict[int, int] = {}
    _blank: HeldEvents | None = None
    _spoke: bool = False
    _held: HeldEvents | None = None

    def __post_init__(self) -> None:
        if self.choice.mode == "required":
            self._held = HeldEvents()

    def feed(self, events: list[Event]) -> list[Event]:
        """Return the events that may go out, with consecutive indexes.

        If a call is required, nothing goes out before it starts, so the model can still be asked
        again; unless there are too many events to be held.
        """
        out: list[Event] = []
        for event in events:
            if type(event) is TextDelta:
                if self._spoke:
                    out.append(event)
                else:
                    self._text(event, out)
            elif type(event) is ArgsDelta:
                index = event.index
                if (kept := self._kept.get(index)) is not None:
                    out.append(event if kept == index else ArgsDelta(kept, event.json))
            elif type(event) is CallStart:
                self._start(event, out)
            elif type(event) is CallEnd:
                self._call_end(event, out)
            elif type(event) is TurnEnd:
                self._end(event.reason, out)
            else:
                out.append(event)
        if self._held is None:
            return out
        full = self._held.add(out)
        if not (full or self.calls or any(type(event) is TurnEnd for event in out)):
            return []
        out, self._held = self._held.release(), None
        return out

    def number(self, index: int) -> int | None:
        """Return the client's index of call `index`, if the call passes through unchanged."""
        return None if self._held is not None else self._kept.get(index)

    def _call_end(self, event: CallEnd, out: list[Event]) -> None:
        kept = self._kept.get(event.index)
        if kept is None:
            return
        same = kept == event.index
        out.append(event if same else CallEnd(kept, event.complete, event.unread, event.cut))
        if event.unread:
            self._unread += 1  # it is text at best, so another call may be made

    def _text(self, event: TextDelta, out: list[Event]) -> None:
        """Process the first text. Hold back white space, which may turn out to be next to calls."""
        if not event.text.isspace():
            self._spoke = True
            if self._blank is not None:
                out += self._blank.release()
            out.append(event)
            return
        if self._blank is None:
            self._blank = HeldEvents()
        if self._blank.add([event]):
            self._spoke = True
            out += self._blank.release()

    def _start(self, event: CallStart, out: list[Event]) -> None:
        choice = self.choice
        if event.name not in self.tools:
            event = self._resolved(event)
        if choice.mode == "none":
            self.repairs.add("call_dropped:tool_choice_none")
        elif choice.allowed is not None and event.name not in choice.allowed:
            self.repairs.add("call_dropped:tool_not_allowed")
        elif not self.parallel and self.calls > self._unread:
            self.repairs.add("call_dropped:parallel_tool_calls_false")
        else:
            if self.calls >= MOST_CALLS:
                raise UpstreamError(f"The model made more than {MOST_CALLS} calls in one answer.")
            kept = self._kept[event.index] = self.calls
            self.calls += 1
            out.append(
                event
                if kept == event.index
                else CallStart(kept, event.name, event.call_id, event.provider_id, event.kind)
            )

    def _resolved(self, event: CallStart) -> CallStart:
        """Return the call with the name of the tool that it means."""
        name = resolve(event.name, self.tools) or self.aliases.get(event.name, event.name)
        if name == event.name:
            return event
        self.repairs.add("tool_name_resolved")
        return CallStart(event.index, name, event.call_id, event.provider_id, event.kind)

    def _end(self, reason: FinishReason, out: list[Event]) -> None:
        if self._blank is not None and not self.calls and not self._spoke:
            out += self._blank.release()
        cut = reason in ("length", "content_filter")
        if self.choice.mode == "required" and not self.calls:
            said = self._said(out)
            if not cut:
                raise self._unmet(said)
            if reason == "length" and not self.final and self._is_prose(said):
                raise self._unmet(said[:_PROSE])  # the full text may have filled the context
        if not cut:
            reason = "tool_calls" if self.calls else "stop"
        out.append(TurnEnd(reason))

    def _said(self, out: list[Event]) -> str:
        said = "".join(event.text for event in out if type(event) is TextDelta)
        return said if self._held is None else self._held.text + said

    def _is_prose(self, said: str) -> bool:
        """Whether the text is prose, rather than a truncated call, which would name its tool."""
        ends = said if len(said) <= 2 * _LOOKED else said[:_LOOKED] + said[-_LOOKED:]
        return len(said) >= _PROSE and set(_MARKED.findall(ends)).isdisjoint(self.tools)

    def _unmet(self, said: str) -> ToolChoiceUnmet:
        error = ToolChoiceUnmet(
            "The model answered without the tool call that 'tool_choice' demands. "
            "Ask again, or use 'tool_choice': 'auto'.",
            place=Place("tool_choice"),
        )
        error.called = "call_dropped:tool_not_allowed" in self.repairs
        error.said = said
        return error
