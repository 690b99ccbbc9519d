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
from toolwire.gateway.strategies.base import TextReader
from toolwire.protocol.events import Event, TextDelta, TurnEnd
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
        self._begun = 0
        self._calling = False
        self._gap = False

    @property
    def repairs(self) -> set[str]:
        """What was repaired."""
        return self._native.repairs

    def feed(self, fragment: Fragment) -> list[Event]:
        """Take what the backend said next."""
        if not fragment.text:
            if fragment.gap:
                self._mind_the_gap()
            if self._calls is None:
                return self._native.feed(fragment)
        elif self._calls is None:
            self._note_calls()  # those before this text
        return self._read(self._native.feed(fragment))

    def finish(self, *, done: bool) -> list[Event]:
        """The answer is over."""
        events = self._native.finish(done=done)
        return events if self._parser is None else self._read(events)

    def _mind_the_gap(self) -> None:
        """Text was lost. In a call it would make a wrong one; before one, it may have been what
        made it a mere quotation. In prose alone it is only missing."""
        if self._parser is not None and not self._parser.idle:
            raise UpstreamError("The backend's event stream is broken inside a tool call.")
        self._gap = True

    def _note_calls(self) -> None:
        self._begun, self._calling = self._native.begun, self._native.calling

    def _read(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            if isinstance(event, TextDelta):
                if event.logprobs:
                    self._logprobs.append(event.logprobs)
                if self._parser is None:
                    self._parser = self._make_parser()
                self._from_text(self._parser.feed(event.text), out)
            elif self._calls is not None and isinstance(event, CALL_EVENTS):
                self._calls.from_backend(event, out)
            else:
                if self._parser is not None and isinstance(event, TurnEnd):
                    self._note_calls()
                    self._from_text(self._parser.finish(), out)
                out.append(event)
        return out

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
                        self._begun, calling=self._calling, new_call_id=self._new_call_id
                    )
                self._calls.from_text(event, out)
            elif self._logprobs and isinstance(event, TextDelta):
                out.append(TextDelta(event.text, _joined(self._logprobs)))
                self._logprobs = []
            else:
                out.append(event)


def _joined(logprobs: list[bytes]) -> bytes:
    """The logprobs of several deltas whose text comes out as one."""
    if len(logprobs) == 1:
        return logprobs[0]
    parts = [msgspec.json.decode(raw, type=dict[str, Any]) for raw in logprobs]
    tokens = [token for part in parts for token in part.get("content") or ()]
    return msgspec.json.encode({**parts[-1], "content": tokens})
