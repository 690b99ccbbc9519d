"""Decodes the body of an answer into fragments: what all APIs have in common.

The body is an event stream or one JSON value, and its first byte tells which. Some servers send
JSON although a stream was requested, or the reverse, or use the wrong content type. How much of it
is held, and how many invalid events are skipped, is limited here.
"""

from abc import ABC, abstractmethod

import msgspec

from toolwire.backends.base import Redact, clip
from toolwire.backends.openai.error_kinds import error_of, reported_error
from toolwire.backends.openai.refusal import lasting
from toolwire.errors import UpstreamError
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.json_limits import is_wide
from toolwire.protocol.json_numbers import decode_any
from toolwire.protocol.sse import SseDecoder, SseEvent

_BROKEN_EVENTS = 16
"""The most invalid events to skip before the stream counts as broken."""
_MOST_VALUES = 600_000
"""The most values in one event or body. To decode as many takes about a fifth of a second."""
_LARGE = 256 * 1024
"""Bytes that are processed at once."""
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class BodyDecoder(ABC):
    """Decodes one answer. `done`: the backend has marked its end.

    `streamed` is the form that the content type announces; `redact` masks keys in errors.
    """

    def __init__(self, *, max_line: int, streamed: bool = True, redact: Redact = clip) -> None:
        self.done = False
        self.large = False
        """Whether so much came at once that it should be processed in steps."""
        self._redact = redact
        self._streamed = streamed
        self._room = max_line
        self._sse: SseDecoder | None = None
        self._body = bytearray()
        self._broken = 0
        self._choices = {0}
        """The choices so far: a gap may be in any of them."""

    @abstractmethod
    def _event(self, data: bytes) -> list[Fragment]:
        """Decode one event. Raises `MsgspecError` if it is invalid."""

    def _whole(self, body: bytes) -> list[Fragment]:
        """Decode a body that is not a stream."""
        return self._event(body)

    def feed(self, block: bytes) -> list[Fragment]:
        """Decode the next bytes."""
        if self._sse is not None:
            data = self._sse.one(block)
            if data is None:
                return self._events(self._sse.feed(block))
            if self.done:
                return []
            if len(data) > _LARGE:
                self._note_large(data)
            try:
                return self._event(data)
            except _UNREADABLE:
                return self._gap()
        if not block:
            return []
        if not self._body and self._is_stream(block[:1]):
            self._sse = SseDecoder(max_line=self._room)
            return self._events(self._sse.feed(block))
        self._room -= len(block)
        if self._room < 0:
            raise UpstreamError("The backend's answer is larger than the limit.")
        self._body += block
        return []

    def finish(self) -> list[Fragment]:
        """Process the end of the response."""
        if self._sse is not None:
            return self._events(self._sse.finish())
        body = bytes(self._body)
        self._body.clear()
        if not body or body.isspace():
            raise UpstreamError("The backend sent an empty answer.")
        if len(body) > _LARGE:
            self._note_large(body)
        try:
            fragments = self._whole(body)
        except _UNREADABLE as error:
            text = f"The backend's answer is invalid: {error}."
            raise UpstreamError(text) from None
        self.done = True
        return fragments

    def _is_stream(self, first: bytes) -> bool:
        """Whether the body is a stream: no event starts with a brace, and no JSON with a field."""
        return first != b"{" if self._streamed else first in (b"d", b"e", b":")

    def _events(self, events: list[SseEvent]) -> list[Fragment]:
        fragments: list[Fragment] = []
        for event in events:
            if self.done:
                break
            if len(event.data) > _LARGE:
                self._note_large(event.data)
            if event.event == b"error":
                raise self._failure(_any_json(event.data))
            if event.data.strip() == b"[DONE]":
                self.done = True
                continue
            try:
                fragments += self._event(event.data)
            except _UNREADABLE:
                fragments += self._gap()
        return fragments

    def _gap(self) -> list[Fragment]:
        """Skip an invalid event, and mark the gap: a call around it may be corrupt."""
        self._broken += 1
        if self._broken > _BROKEN_EVENTS:
            raise UpstreamError("The backend's event stream is broken.")
        return [Fragment(choice, gap=True) for choice in sorted(self._choices)]

    def _note_large(self, data: bytes) -> None:
        self.large = True
        _check_width(data)

    def _failure(self, error: object) -> UpstreamError:
        return reported_error(error, self._redact)


def _check_width(data: bytes) -> None:
    """Refuse JSON that would block the event loop while it is decoded."""
    if is_wide(data, _MOST_VALUES):
        raise lasting(
            f"The backend's answer has more than {_MOST_VALUES} values in one piece. "
            "Ask for fewer log probabilities."
        )


def check_count(count: int, most: int, what: str) -> None:
    """Refuse an answer with so many parts that processing would block the event loop."""
    if count > most:
        raise UpstreamError(f"The backend's answer has more than {most} {what}.")


def _any_json(data: bytes) -> object:
    try:
        value = decode_any(data)
    except _UNREADABLE:
        return data.decode("utf-8", "replace")
    return error_of(value)
