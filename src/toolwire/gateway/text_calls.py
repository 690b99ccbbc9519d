"""Text that is read in the model's format: calls in it are promoted to calls.

Stands where `NativeReader` stands and is built on it, so that native calls and calls found in text
come out of one place, numbered together. Used for backends without tools (the prompt taught the
model its format) and for those whose own parser lets calls through as text. An answer without
text costs next to nothing: the parser is made for the first text, the numbering for the first
call in it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from toolwire.errors import UpstreamError
from toolwire.gateway.call_sequencer import CALL_EVENTS, CallSequencer
from toolwire.gateway.native import NativeReader
from toolwire.gateway.strategies.text_reader import TextReader
from toolwire.protocol.events import Event, TextDelta
from toolwire.protocol.fragments import Fragment


class TextCallReader:
    """One choice of one answer. `promoting`: the backend should have found the calls itself."""

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
        """What was repaired."""
        return self._native.repairs

    @property
    def called(self) -> bool:
        """See `Reading.called`."""
        return self._native.called

    @property
    def flowing(self) -> NativeReader | None:
        """See `Reading.flowing`. After a call in the text, native ones may have to wait."""
        return None if self._calls is not None else self._native.flowing

    def feed(self, fragment: Fragment) -> list[Event]:
        """Take what the backend said next."""
        native, text = self._native, fragment.text
        if not text:
            if fragment.gap:
                self._mind_the_gap()
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
        """The answer is over."""
        events = self._native.finish(done=done)
        if self._calls is not None:
            events = _numbered(events, self._calls)
        if self._parser is not None:
            end = events.pop()
            self._from_text(self._parser.finish(), events)
            events.append(end)
        return events

    def _mind_the_gap(self) -> None:
        """Text was lost. In a call it would make a wrong one; before one, it may have been what
        made it a mere quotation. In prose alone it is only missing."""
        if self._parser is not None and not self._parser.idle:
            raise UpstreamError("The backend's event stream is broken inside a tool call.")
        self._gap = True

    def _from_text(self, events: list[Event], out: list[Event]) -> None:
        for event in events:
            if isinstance(event, CALL_EVENTS):
                if self._gap:
                    raise UpstreamError("The backend's event stream is broken before a tool call.")
                if self._promoting:
                    self._native.repairs.add("call_promoted_from_text")
                self._logprobs = []  # those of a call's tokens are not part of an answer
                if self._calls is None:
                    self._calls = CallSequencer(
                        self._native.begun,
                        calling=self._native.calling,
                        new_call_id=self._new_call_id,
                    )
                self._calls.from_text(event, out)
            elif self._logprobs and isinstance(event, TextDelta):
                out.append(TextDelta(event.text, _joined(self._logprobs)))
                self._logprobs = []
            else:
                out.append(event)


def _numbered(events: list[Event], calls: CallSequencer) -> list[Event]:
    """Calls that the backend found itself, numbered together with those in the text."""
    out: list[Event] = []
    for event in events:
        if isinstance(event, CALL_EVENTS):
            calls.from_backend(event, out)
        else:
            out.append(event)
    return out


def _joined(logprobs: list[bytes]) -> bytes:
    """The logprobs of several deltas whose text comes out as one."""
    if len(logprobs) == 1:
        return logprobs[0]
    parts = [msgspec.json.decode(raw, type=dict[str, Any]) for raw in logprobs]
    tokens = [token for part in parts for token in part.get("content") or ()]
    return msgspec.json.encode({**parts[-1], "content": tokens})
