"""Reads an answer that is an event stream or a JSON body, and tells them apart by content.

The base of the decoders of APIs whose events have types. Those of OpenAI's chat completions have
none: see `openai.answer`.
"""

import msgspec

from toolwire.backends.base import Redact, clip
from toolwire.errors import UpstreamError
from toolwire.protocol.fragments import MOST_CALLS, Fragment
from toolwire.protocol.sse import SseDecoder, SseEvent

_BROKEN_EVENTS = 16
"""The most invalid events to skip before the stream counts as broken."""
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class EventAnswerDecoder:
    """Decodes one answer. `done`: the backend has marked its end."""

    def __init__(self, *, max_line: int, redact: Redact = clip) -> None:
        self.done = False
        self._redact = redact
        self._room = max_line
        self._sse: SseDecoder | None = None
        self._body: list[bytes] = []
        self._broken = 0

    def event(self, data: bytes) -> list[Fragment]:
        """Decode one event of a stream."""
        raise NotImplementedError

    def whole(self, body: bytes) -> list[Fragment]:
        """Decode a JSON body."""
        raise NotImplementedError

    def feed(self, block: bytes) -> list[Fragment]:
        """Decode the next bytes."""
        if not block:
            return []
        if self._sse is None and not self._body and block[:1] != b"{":
            self._sse = SseDecoder(max_line=self._room)
        if self._sse is not None:
            return self._events(self._sse.feed(block))
        self._room -= len(block)
        if self._room < 0:
            raise UpstreamError("The backend's answer is larger than the limit.")
        self._body.append(block)
        return []

    def finish(self) -> list[Fragment]:
        """Process the end of the response."""
        if self._sse is not None:
            return self._events(self._sse.finish())
        body = b"".join(self._body)
        if not body.strip():
            raise UpstreamError("The backend sent an empty answer.")
        try:
            fragments = self.whole(body)
        except _UNREADABLE as error:
            text = f"The backend's answer is not what it should be: {error}."
            raise UpstreamError(text) from None
        self.done = True
        return fragments

    def _events(self, events: list[SseEvent]) -> list[Fragment]:
        fragments: list[Fragment] = []
        for event in events:
            if self.done:
                break
            try:
                fragments += self.event(event.data)
            except _UNREADABLE:
                fragments.append(self._gap())
        return fragments

    def _gap(self) -> Fragment:
        """Skip an invalid event, and mark the gap: a call around it may be corrupt."""
        self._broken += 1
        if self._broken > _BROKEN_EVENTS:
            raise UpstreamError("The backend's event stream is broken.")
        return Fragment(gap=True)


def check_calls(number: int) -> None:
    """Refuse an answer with too many calls: the model is in a loop."""
    if number >= MOST_CALLS:
        raise UpstreamError(f"The backend's answer has more than {MOST_CALLS} tool calls.")
