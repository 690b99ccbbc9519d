"""Reads text in the model's format, and promotes calls in it to tool calls.

It replaces and wraps `NativeReader`, so native calls and calls found in text have one numbering.
It is used for backends without tools, whose prompt describes the format, and for backends whose
own parser leaves calls in the text. An answer without text costs almost nothing: the parser is
created with the first text, and the sequencer with the first call in it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from toolwire.errors import UpstreamError
from toolwire.formats.text_reader import TextReader
from toolwire.gateway.answer.call_sequencer import CALL_EVENTS, CallSequencer, MadeCall
from toolwire.gateway.answer.native import NativeReader
from toolwire.protocol.events import ArgsDelta, CallEnd, Event, TextDelta
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.json_limits import is_wide
from toolwire.protocol.json_numbers import decode_any

_MOST_VALUES = 100_000
"""The most values of log probabilities that are joined. More are left out."""


class TextCallReader:
    """Reads one choice. `promoting`: the backend should have found the calls itself."""

    __slots__ = (
        "_calls", "_gap", "_logprobs", "_make_parser", "_native", "_new_call_id", "_parser",
        "_promoting",
    )  # fmt: skip

    def __init__(
        self,
        native: NativeReader,
        make_parser: Callable[[], TextReader],
        new_call_id: Callable[[], str],
        *,
        promoting: bool = True,
    ) -> None:
        self._promoting = promoting
        self._native = native
        self._make_parser = make_parser
        self._parser: TextReader | None = None
        self._new_call_id = new_call_id
        self._logprobs: list[bytes] = []
        self._calls: CallSequencer | None = None
        self._gap = False

    @property
    def repairs(self) -> set[str]:
        """See `Reading.repairs`."""
        return self._native.repairs

    @property
    def called(self) -> bool:
        """See `Reading.called`."""
        return self._native.called

    @property
    def ended(self) -> bool:
        """See `Reading.ended`."""
        return self._native.ended

    @property
    def in_text_call(self) -> bool:
        """See `Reading.in_text_call`."""
        return self._parser is not None and not self._parser.idle

    @property
    def flowing(self) -> NativeReader | None:
        """See `Reading.flowing`. After a call in the text, native calls may have to wait."""
        return None if self._calls is not None else self._native.flowing

    def feed(self, fragment: Fragment) -> list[Event]:
        """See `Reading.feed`."""
        native, text = self._native, fragment.text
        if not text:
            if fragment.gap:
                self._note_gap()
            events = native.feed(fragment)
            return events if self._calls is None else _numbered(events, self._calls)
        out: list[Event] = []
        if fragment.gap or fragment.reasoning:
            native.before_text(fragment, out)
        native.said = True
        if fragment.logprobs:
            self._logprobs.append(fragment.logprobs)
        if self._parser is None:
            self._parser = self._make_parser()
        self._from_text(self._parser.feed(text), out)
        if fragment.calls or fragment.extras or fragment.finish is not None:
            rest: list[Event] = []
            native.after_text(fragment, rest)
            out += rest if self._calls is None else _numbered(rest, self._calls)
        return out

    def finish(self, *, done: bool) -> list[Event]:
        """See `Reading.finish`."""
        events = self._native.finish(done=done)
        if self._calls is not None:
            events = _numbered(events, self._calls)
        if self._parser is not None:
            end = events.pop()
            self._from_text(self._parser.finish(), events)
            events.append(end)
        return events

    def _note_gap(self) -> None:
        """Raise if text was lost within a call. Otherwise remember it: before a call, the lost text
        may have marked it as a quotation."""
        if self.in_text_call:
            raise UpstreamError("The backend's event stream is broken inside a tool call.")
        self._gap = True

    def _from_text(self, events: list[Event], out: list[Event]) -> None:
        for event in events:
            if isinstance(event, CALL_EVENTS):
                if self._gap:
                    raise UpstreamError("The backend's event stream is broken before a tool call.")
                if self._promoting and _is_read(event):
                    self._native.repairs.add("call_promoted_from_text")
                self._logprobs = []  # logprobs of a call's tokens are not part of an answer
                if self._calls is None:
                    self._calls = CallSequencer(
                        [MadeCall(call.name, call.sent) for call in self._native.begun],
                        calling=self._native.calling,
                        new_call_id=self._new_call_id,
                        repairs=self._native.repairs,
                    )
                self._calls.from_text(event, out)
                continue
            said = event
            if self._logprobs and type(event) is TextDelta:
                said = TextDelta(event.text, _joined(self._logprobs))
                self._logprobs = []
            if self._calls is not None and type(said) is TextDelta:
                self._calls.text(said, out)
            else:
                out.append(said)


def _is_read(event: Event) -> bool:
    """Whether an event is part of a call that can be read."""
    return type(event) is ArgsDelta or (type(event) is CallEnd and event.complete)


def _numbered(events: list[Event], calls: CallSequencer) -> list[Event]:
    """Number native calls together with those in the text."""
    out: list[Event] = []
    for event in events:
        if isinstance(event, CALL_EVENTS):
            calls.from_backend(event, out)
        else:
            out.append(event)
    return out


def _joined(logprobs: list[bytes]) -> bytes:
    """Join the logprobs of several deltas whose text goes out as one."""
    if len(logprobs) == 1:
        return logprobs[0]
    joined = b"[" + b",".join(logprobs) + b"]"
    if is_wide(joined, _MOST_VALUES):
        return b""
    parts: list[dict[str, Any]] = decode_any(joined)
    listed = [part["content"] for part in parts if isinstance(part.get("content"), list)]
    tokens = [token for tokens in listed for token in tokens]
    return msgspec.json.encode({**parts[-1], "content": tokens})
