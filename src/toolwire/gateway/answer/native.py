"""Turns the fragments of a backend with native tools into normalized events.

Theory of operation. Backends disagree on everything about call deltas: indexes are missing, shared
or gapped; ids are missing, repeated or the same for two calls; names come twice or in halves;
arguments are objects, null, sent twice, or come behind an empty object; two calls are interleaved.
So each delta is first assigned to its call (`_owner`), and calls are then released strictly one
after the other (`_release`). A call ends when its JSON is balanced and another call has started;
deltas of later calls wait. A well-formed stream passes through without delay.
"""

from collections.abc import Callable, Collection
from typing import Literal

from toolwire.errors import UpstreamError
from toolwire.gateway.answer.native_call import NativeCall, as_text, lead
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    Extra,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    TurnEnd,
)
from toolwire.protocol.fragments import MOST_CALLS, CallFragment, Fragment

_REASONS: dict[str, FinishReason] = {
    "length": "length", "max_tokens": "length", "model_length": "length",
    "content_filter": "content_filter", "tool_calls": "tool_calls", "function_call": "tool_calls",
}  # fmt: skip


_MOST_NAMES = 2 * MOST_CALLS
"""The most indexes, or ids, that deltas may use: a call may have several."""
_LONGEST_NAME = 1024


class NativeReader:
    """Reads one choice. `feed` it each fragment, then `finish`."""

    __slots__ = (
        "_by_id", "_by_index", "_calls", "_finish", "_flowing", "_gap", "_new_call_id", "_released",
        "_tools", "repairs", "said",
    )  # fmt: skip

    in_text_call = False
    """See `Reading.in_text_call`."""

    def __init__(self, tools: Collection[str], new_call_id: Callable[[], str]) -> None:
        self.repairs: set[str] = set()
        self._tools = tools
        self._new_call_id = new_call_id
        self._calls: list[NativeCall] = []
        self._by_index: dict[int, NativeCall] = {}
        self._by_id: dict[str, NativeCall] = {}
        self._released = 0
        self._gap = False
        self.said = False
        """Whether any of the answer was readable."""
        self._finish: str | None = None
        self._flowing: NativeCall | None = None
        """The last call, if it is current and none of it is waiting."""

    @property
    def begun(self) -> list[NativeCall]:
        """The calls that have been announced."""
        return self._calls[: self._released + self.calling]

    @property
    def called(self) -> bool:
        """See `Reading.called`."""
        return bool(self._calls)

    @property
    def calling(self) -> bool:
        """Whether a call was announced and has not ended."""
        return self._released < len(self._calls) and self._calls[self._released].started

    def feed(self, fragment: Fragment) -> list[Event]:
        """See `Reading.feed`."""
        events: list[Event] = []
        if fragment.gap or fragment.reasoning:
            self.before_text(fragment, events)
        if fragment.text:
            events.append(TextDelta(fragment.text, fragment.logprobs))
            self.said = True
        if fragment.calls or fragment.extras or fragment.finish is not None:
            self.after_text(fragment, events)
        return events

    def before_text(self, fragment: Fragment, events: list[Event]) -> None:
        """Process what precedes the text of a fragment. Another reader may read the text."""
        if fragment.gap:
            self._note_gap()
        if fragment.reasoning:
            events.append(ReasoningDelta(fragment.reasoning))
            self.said = True

    def after_text(self, fragment: Fragment, events: list[Event]) -> None:
        """Process what follows the text of a fragment."""
        for name, json in fragment.extras:
            events.append(Extra(name, json))
        for piece in fragment.calls:
            self._take(piece, events)
        if fragment.finish is not None:
            self._finish = fragment.finish
        self.said = self.said or bool(events)

    @property
    def ended(self) -> bool:
        """See `Reading.ended`."""
        return self._finish is not None and not any(call.cut for call in self._calls)

    @property
    def flowing(self) -> "NativeReader | None":
        """See `Reading.flowing`."""
        return self if self._flowing is not None else None

    @property
    def in_turn(self) -> int:
        """The index of the current call."""
        return self._released

    def more(self, fragment: Fragment) -> str | None:
        """Return what a fragment adds to the arguments of the `flowing` call.

        Returns None if the fragment holds anything else; then `feed` it.
        """
        call, calls = self._flowing, fragment.calls
        if call is None or len(calls) != 1 or fragment.text or fragment.reasoning:
            return None
        if fragment.extras or fragment.finish is not None or fragment.gap:
            return None
        piece = calls[0]
        text, index = piece.arguments, piece.index
        if piece.id or piece.name or type(text) is not str:
            return None
        if index is not None and self._by_index.get(index) is not call:
            return None
        if text[:1] == "{" and len(call.pieces) == 1:
            return None  # it may repeat the first piece
        used = call.boundary.feed(text)
        if used != len(text):
            text = self._cut(text, used)
        call.pieces.append(text)
        return text

    def finish(self, *, done: bool) -> list[Event]:
        """End the answer. `done`: the backend marked the end, rather than just closing."""
        reason = self._finish
        if reason == "error":
            raise UpstreamError("The backend ended its answer with an error.")
        if reason is None:
            if not done:
                raise UpstreamError("The backend ended its answer before it was finished.")
            if any(call.cut for call in self._calls):
                raise UpstreamError("The backend ended its answer in the middle of a tool call.")
            self.repairs.add("finish_reason_missing")
        if self._gap and not self._calls and _REASONS.get(reason or "") == "tool_calls":
            raise UpstreamError("The backend's event stream is broken: its tool call is lost.")
        events: list[Event] = []
        made = bool(self._calls)
        self._release(events, last=True)
        if made and not self._calls and _REASONS.get(reason or "") == "tool_calls":
            self._note_empty()
        if self._gap and not (self.said or events):
            raise UpstreamError("The backend's event stream is broken: none of it could be read.")
        events.append(TurnEnd(_REASONS.get(reason or "", "stop")))
        return events

    def _note_gap(self) -> None:
        """Raise if a line was lost within a call: a wrong call could look valid."""
        if not all(call.complete or call.repeats for call in self._calls):
            raise UpstreamError("The backend's event stream is broken inside a tool call.")
        self._gap = True
        self.repairs.add("broken_line_skipped")

    def _note_empty(self) -> None:
        """Raise if the answer is nothing but tool calls of which nothing could be read."""
        if not self.said:
            raise UpstreamError("The backend's tool calls were empty.")
        self.repairs.add("call_dropped:empty")

    def _take(self, piece: CallFragment, events: list[Event]) -> None:
        self._flowing = None
        call = self._owner(piece)
        if piece.name and not call.started:
            call.name = self._joined_name(call.name, piece.name)
        text = as_text(piece.arguments)
        if text:
            if self._gap and not (call.has_arguments or call.custom) and text.lstrip()[:1] != "{":
                raise UpstreamError("The backend's event stream is broken inside a tool call.")
            self._add_arguments(call, text)
        self._release(events)

    def _owner(self, piece: CallFragment) -> NativeCall:
        """Return the call that this delta belongs to: an open one, or a new one."""
        call, known = self._find(piece), piece.id
        if call is None:
            call = NativeCall(known or None, custom=piece.custom)
            self._add(call)
        if len(self._by_index) > _MOST_NAMES or len(self._by_id) > _MOST_NAMES:
            raise UpstreamError("The backend's answer has too many indexes or ids of tool calls.")
        if piece.index is not None:
            self._by_index[piece.index] = call
        if known:
            if call.provider_id is None:
                call.provider_id = known
            if call.provider_id == known:
                self._by_id[known] = call
        return call

    def _add(self, call: NativeCall) -> None:
        if len(self._calls) >= MOST_CALLS:
            raise UpstreamError(f"The backend's answer has more than {MOST_CALLS} tool calls.")
        self._calls.append(call)

    def _find(self, piece: CallFragment) -> NativeCall | None:
        if piece.name and not self._calls:
            return None
        known = self._by_id.get(piece.id) if piece.id else None
        last = self._calls[-1] if self._calls else None
        if piece.index is None:
            call = known or (last if not piece.id or _goes_on(last, piece) else None)
        else:
            call = self._by_index.get(piece.index)
            if call is None and not piece.name:
                if self._gap:
                    raise UpstreamError("The backend's event stream is broken inside a tool call.")
                # An unknown index without a name continues a known call.
                call = known or (last if not piece.id else None)
            elif call is not None and piece.id and call.provider_id not in (None, piece.id):
                # A new id at the same index: a new call, unless every delta has its own id.
                call = known or (call if _goes_on(call, piece) else None)
        if call is None or not piece.name:
            return call
        if not call.complete:
            return None if self._is_other_tool(call, piece.name) else call
        return self._again(call, piece)

    def _again(self, call: NativeCall, piece: CallFragment) -> NativeCall | None:
        """Decide whether a name for a complete call is a repetition or a new call."""
        text = as_text(piece.arguments)
        if not call.name and (not text or call.says(text)):
            return call  # its name comes after its arguments
        if piece.name == call.name and piece.id in (None, "", call.provider_id):
            if text and piece.id and call.empty:
                return call  # its arguments come behind an empty object
            if text and piece.id and call.says(text):
                return call
            if not text:
                # Only what follows can tell: if arguments follow, it is a new call.
                self._add(NativeCall(custom=piece.custom, repeats=call))
                return self._calls[-1]
        self.repairs.add("call_index_shared")
        return None

    def _drop(self, repeated: NativeCall, original: NativeCall) -> None:
        """Drop a call without arguments, because its name was only repeated."""
        self._calls.remove(repeated)
        self._by_index = {k: original if c is repeated else c for k, c in self._by_index.items()}
        self._by_id = {k: original if c is repeated else c for k, c in self._by_id.items()}

    def _is_other_tool(self, call: NativeCall, name: str) -> bool:
        """Whether `name` starts a second call without arguments, rather than continuing a name."""
        known = call.name in self._tools and name in self._tools and not call.has_arguments
        return known and call.name + name not in self._tools and not name.startswith(call.name)

    def _joined_name(self, name: str, more: str) -> str:
        """Join a name that came whole, repeated, in parts or as a growing prefix, by the tools."""
        if len(name) + len(more) > _LONGEST_NAME:
            raise UpstreamError("The backend's answer has a tool call with too long a name.")
        if not name:
            return more
        joined = name + more
        if name in self._tools and name == more:
            return more
        if any(tool.startswith(joined) for tool in self._tools):
            return joined
        return more if more.startswith(name) else joined

    def _add_arguments(self, call: NativeCall, text: str) -> None:
        if call.repeats is not None:
            call.repeats = None
            self.repairs.add("call_index_shared")
        call.has_arguments = True
        if call.custom:
            call.add(text)
            return
        text = call.news(text)
        if call.told:
            self.repairs.add("arguments_repeated")
        if call.led_by(text):
            if self._gap and call.empty:
                raise UpstreamError("The backend's event stream is broken inside a tool call.")
            text = call.begin_again() + text
        if not (call.boundary.open or call.complete) and (surplus := lead(text)):
            text = text[surplus:]
            self.repairs.add("arguments_repeated")
        if text := self._cut(text, call.boundary.feed(text)):
            call.add(text)

    def _cut(self, text: str, used: int) -> str:
        """Return the first `used` characters, which belong to the call's JSON."""
        if text[used:].strip():
            self.repairs.add("arguments_repeated")
        return text[:used]

    def _release(self, events: list[Event], *, last: bool = False) -> None:
        """Release events, one call after the other."""
        while (index := self._released) < len(self._calls):
            call = self._calls[index]
            followed = index + 1 < len(self._calls)
            if call.repeats is not None:
                if not (last or followed):
                    return
                self._drop(call, call.repeats)
                continue
            if last and not (call.name or call.has_arguments):
                del self._calls[index]  # it had an entry, but no content
                continue
            if not call.name:
                if last:
                    raise UpstreamError("The backend sent a tool call without a name.")
                return
            if not call.started and not self._start(call, index, events, last=last):
                return
            if call.waiting and not call.empty and (call.custom or call.boundary.started):
                events.append(ArgsDelta(index, "".join(call.waiting)))
                call.waiting.clear()
                self._flowing = None if followed or call.custom or call.told else call
            if not (last or (followed and (call.complete or call.custom))):
                return
            self._end(call, index, events)

    def _start(self, call: NativeCall, index: int, events: list[Event], *, last: bool) -> bool:
        """Announce the call as soon as its name is final."""
        if not (last or call.has_arguments or self._is_settled(call.name)):
            return False
        if self._gap and call.name not in self._tools:
            raise UpstreamError("The backend's event stream is broken in the name of a tool.")
        call.started = True
        kind: Literal["function", "custom"] = "custom" if call.custom else "function"
        events.append(CallStart(index, call.name, self._new_call_id(), call.provider_id, kind))
        return True

    def _is_settled(self, name: str) -> bool:
        return name in self._tools and not any(
            tool != name and tool.startswith(name) for tool in self._tools
        )

    def _end(self, call: NativeCall, index: int, events: list[Event]) -> None:
        complete = call.complete or call.custom or call.blank
        if call.blank:
            events.append(ArgsDelta(index, "{}"))
        elif call.waiting:
            events.append(ArgsDelta(index, "".join(call.waiting)))
        call.empty = False
        events.append(CallEnd(index, complete))
        self._released += 1


def _goes_on(call: NativeCall | None, piece: CallFragment) -> bool:
    """Whether a delta without a name can only continue this call's arguments."""
    if call is None or piece.name or call.complete:
        return False
    return call.has_arguments or bool(as_text(piece.arguments))
