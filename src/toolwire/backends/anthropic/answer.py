"""Decodes the bytes of a Messages API answer into fragments.

One decoder reads both forms, an event stream and a JSON body, and tells them apart by content.
Blocks of an unknown type belong to tools that the server runs itself. They are skipped, as are
signatures and citations, unless the client speaks this API: see `own_answer`.
"""

from typing import Any

import msgspec

from toolwire.backends.anthropic.own_answer import OwnParts, whole_parts
from toolwire.backends.base import Redact, clip
from toolwire.backends.openai.answer import error_text
from toolwire.backends.openai.error_kinds import kind_of_error, known_refusal, own_word
from toolwire.errors import UpstreamError, UpstreamUnavailable
from toolwire.protocol.fragments import (
    CONTEXT_FULL,
    ENDED_BY,
    MOST_CALLS,
    PAUSED,
    STOPPED_BY,
    CallFragment,
    Fragment,
)
from toolwire.protocol.sse import SseDecoder, SseEvent
from toolwire.protocol.usage import CACHE_CREATION, Usage

_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_EXACT = {"pause_turn": PAUSED, "model_context_window_exceeded": CONTEXT_FULL}
"""Stop reasons that say more than a finish reason."""
_BROKEN_EVENTS = 16
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str | None = None
    name: str | None = None
    input: Any = None


class _Delta(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    stop_reason: str | None = None
    stop_sequence: str | None = None


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(msgspec.Struct):
    content: list[_Block] = []
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: _Usage | None = None


class _Event(_Message):
    """An event of a stream, or a whole message: their fields do not collide."""

    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    error: Any = None


_decode = msgspec.json.Decoder(_Event).decode


class MessagesDecoder:
    """Decodes one answer. `done`: the backend has marked its end."""

    def __init__(self, *, max_line: int, redact: Redact = clip, own: bool = False) -> None:
        self.done = False
        self._own = OwnParts() if own else None
        self._redact = redact
        self._room = max_line
        self._sse: SseDecoder | None = None
        self._body: list[bytes] = []
        self._calls: dict[int, int] = {}
        """The call index of each block that is a call."""
        self._usage = _Usage()
        self._broken = 0

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
            event = _decode(body)
        except _UNREADABLE as error:
            text = f"The backend's answer is not what it should be: {error}."
            raise UpstreamError(text) from None
        if event.error:
            raise self._failure(event.error)
        self.done = True
        own = whole_parts(body) if self._own is not None else ([], [])
        return self._whole(event, *own)

    def _events(self, events: list[SseEvent]) -> list[Fragment]:
        fragments: list[Fragment] = []
        for event in events:
            if self.done:
                break
            try:
                decoded = _decode(event.data)
            except _UNREADABLE:
                fragments.append(self._gap())
                continue
            if (made := self._event(decoded)) is not None:
                fragments.append(made)
            if self._own is not None and (more := self._own.event(decoded.type, event.data)):
                fragments.append(more)
        return fragments

    def _event(self, event: _Event) -> Fragment | None:
        """Return what one event adds to the answer."""
        match event.type:
            case "content_block_delta":
                return self._delta(event.index, event.delta or _Delta())
            case "content_block_start":
                return self._start(event.index, event.content_block or _Block())
            case "message_start":
                self._count(event.message.usage if event.message is not None else None)
            case "message_delta":
                self._count(event.usage)
                return self._end(event.delta or _Delta())
            case "message_stop":
                self.done = True
            case "error":
                raise self._failure(event.error)
        return None

    def _delta(self, index: int, delta: _Delta) -> Fragment | None:
        if delta.text:
            return Fragment(text=delta.text)
        if delta.thinking:
            return Fragment(reasoning=delta.thinking)
        if delta.partial_json and index in self._calls:
            call = CallFragment(self._calls[index], None, None, delta.partial_json)
            return Fragment(calls=(call,))
        return None

    def _start(self, index: int, block: _Block) -> Fragment | None:
        if block.type == "tool_use":
            return Fragment(calls=(self._call(index, block),))
        if block.type in ("text", "thinking") and (block.text or block.thinking):
            return Fragment(text=block.text, reasoning=block.thinking)
        return None

    def _call(self, index: int, block: _Block) -> CallFragment:
        number = self._calls[index] = len(self._calls)
        if number >= MOST_CALLS:
            raise UpstreamError(f"The backend's answer has more than {MOST_CALLS} tool calls.")
        # In a stream it is an empty object, and the arguments follow as deltas.
        return CallFragment(number, block.id, block.name, block.input or None)

    def _whole(
        self, message: _Event, own: list[list[Fragment]], rest: list[Fragment]
    ) -> list[Fragment]:
        self._count(message.usage)
        made: list[Fragment] = []
        for index, block in enumerate(message.content):
            if (said := self._start(index, block)) is not None:
                made.append(said)
            made += own[index] if own else ()
        return [*made, *rest, self._end(message)]

    def _end(self, said: _Delta | _Message) -> Fragment:
        about = [(STOPPED_BY, said.stop_sequence)] if said.stop_sequence else []
        if (exact := _EXACT.get(said.stop_reason or "")) is not None:
            about.append((ENDED_BY, exact))
        return Fragment(finish=_finish(said.stop_reason), usage=self._total(), about=tuple(about))

    def _gap(self) -> Fragment:
        self._broken += 1
        if self._broken > _BROKEN_EVENTS:
            raise UpstreamError("The backend's event stream is broken.")
        return Fragment(gap=True)

    def _count(self, usage: _Usage | None) -> None:
        """Update the usage: later figures replace earlier ones."""
        for name in _Usage.__struct_fields__:
            if usage is not None and (value := getattr(usage, name)) is not None:
                setattr(self._usage, name, value)

    def _total(self) -> Usage | None:
        usage = self._usage
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        details = {"cached_tokens": cached, CACHE_CREATION: written}
        given = {name: tokens for name, tokens in details.items() if tokens}
        return Usage(usage.input_tokens + cached + written, usage.output_tokens, given)

    def _failure(self, error: object) -> UpstreamError:
        words = self._redact(error_text(error or ""), 500).strip()
        words = words or "The backend reported an error."
        kind = error.get("type") if isinstance(error, dict) else None
        known = kind_of_error(words, kind)
        if known is not None:
            return known_refusal(known, words)
        if kind == "overloaded_error":
            return UpstreamUnavailable(words)
        failure = UpstreamError(words)
        failure.own_type = own_word(kind, self._redact)
        return failure


def _finish(reason: str | None) -> str | None:
    return None if reason is None else _FINISHES.get(reason, "stop")
