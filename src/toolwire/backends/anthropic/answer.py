"""Decodes the events of a Messages API answer, or a whole message, into fragments.

Blocks of an unknown type belong to tools that the server runs itself. They are skipped, as are
signatures and citations, unless the client speaks this API: see `own_answer`.
"""

from typing import Any

import msgspec
from msgspec import Raw

from toolwire.backends.anthropic.own_answer import OwnParts, whole_parts
from toolwire.backends.base import Redact, clip
from toolwire.backends.body_decoder import BodyDecoder, check_count
from toolwire.protocol.fragments import (
    CONTEXT_FULL,
    ENDED_BY,
    MOST_CALLS,
    PAUSED,
    STOPPED_BY,
    CallFragment,
    Fragment,
)
from toolwire.protocol.json_numbers import SteadyDecoder
from toolwire.protocol.usage import CACHE_CREATION, TokenUsage

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


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str | None = None
    name: str | None = None
    input: Raw = Raw()


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


_decode = SteadyDecoder(_Event).decode
_decode_text = msgspec.json.Decoder(str).decode
_EMPTY = ("", "null", "{}", "[]", "0", "false")


class MessagesDecoder(BodyDecoder):
    """Decodes one answer."""

    def __init__(
        self, *, max_line: int, streamed: bool = True, redact: Redact = clip, own: bool = False
    ) -> None:
        super().__init__(max_line=max_line, streamed=streamed, redact=redact)
        self._own = OwnParts() if own else None
        self._calls: dict[int, int] = {}
        """The call index of each block that is a call."""
        self._usage = _Usage()

    def _event(self, data: bytes) -> list[Fragment]:
        event = _decode(data)
        made = self._piece(event)
        more = self._own.event(event.type, event.index, data) if self._own is not None else None
        return [one for one in (made, more) if one is not None]

    def _whole(self, body: bytes) -> list[Fragment]:
        message = _decode(body)
        if message.error:
            raise self._failure(message.error)
        own, rest = whole_parts(body) if self._own is not None else ([], [])
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

    def _piece(self, event: _Event) -> Fragment | None:
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
        check_count(number + 1, MOST_CALLS, "tool calls")
        return CallFragment(number, block.id, block.name, _arguments(block.input))

    def _count(self, usage: _Usage | None) -> None:
        """Update the usage: later figures replace earlier ones."""
        for name in _Usage.__struct_fields__:
            if usage is not None and (value := getattr(usage, name)) is not None:
                setattr(self._usage, name, value)

    def _total(self) -> TokenUsage | None:
        usage = self._usage
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
        details = {"cached_tokens": cached, CACHE_CREATION: written}
        given = {name: tokens for name, tokens in details.items() if tokens}
        return TokenUsage(usage.input_tokens + cached + written, usage.output_tokens, given)


def _arguments(raw: Raw) -> str | None:
    """Return a call's input as compact JSON, without decoding it: that may take long."""
    text = msgspec.json.format(bytes(raw), indent=-1).decode() if memoryview(raw).nbytes else ""
    if text.startswith('"'):
        return _decode_text(text)
    # In a stream it is an empty object, and the arguments follow as deltas.
    return None if text in _EMPTY else text


def _finish(reason: str | None) -> str | None:
    return None if reason is None else _FINISHES.get(reason, "stop")
