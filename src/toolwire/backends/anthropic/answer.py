"""Decodes the bytes of a Messages API answer into fragments.

Blocks of an unknown type are skipped: they belong to tools that the server runs itself.
"""

from typing import Any

import msgspec

from toolwire.backends.base import Redact, clip
from toolwire.backends.event_answer import EventAnswerDecoder, check_calls
from toolwire.backends.openai.error_kinds import reported_error
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.usage import Usage

_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


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


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Message(msgspec.Struct):
    content: list[_Block] = []
    stop_reason: str | None = None
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


class MessagesDecoder(EventAnswerDecoder):
    """Decodes one answer."""

    def __init__(self, *, max_line: int, redact: Redact = clip) -> None:
        super().__init__(max_line=max_line, redact=redact)
        self._calls: dict[int, int] = {}
        """The call index of each block that is a call."""
        self._usage = _Usage()

    def event(self, data: bytes) -> list[Fragment]:
        """See `EventAnswerDecoder.event`."""
        made = self._event(_decode(data))
        return [] if made is None else [made]

    def whole(self, body: bytes) -> list[Fragment]:
        """See `EventAnswerDecoder.whole`."""
        message = _decode(body)
        if message.error:
            raise reported_error(message.error, self._redact)
        self._count(message.usage)
        made = [self._start(index, block) for index, block in enumerate(message.content)]
        end = Fragment(finish=_finish(message.stop_reason), usage=self._total())
        return [*filter(None, made), end]

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
                reason = event.delta.stop_reason if event.delta is not None else None
                return Fragment(finish=_finish(reason), usage=self._total())
            case "message_stop":
                self.done = True
            case "error":
                raise reported_error(event.error, self._redact)
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
        check_calls(number)
        # In a stream it is an empty object, and the arguments follow as deltas.
        return CallFragment(number, block.id, block.name, block.input or None)

    def _count(self, usage: _Usage | None) -> None:
        """Update the usage: later figures replace earlier ones."""
        for name in _Usage.__struct_fields__:
            if usage is not None and (value := getattr(usage, name)) is not None:
                setattr(self._usage, name, value)

    def _total(self) -> Usage | None:
        usage = self._usage
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        cached = usage.cache_read_input_tokens or 0
        prompt = usage.input_tokens + cached + (usage.cache_creation_input_tokens or 0)
        return Usage(prompt, usage.output_tokens, {"cached_tokens": cached} if cached else {})


def _finish(reason: str | None) -> str | None:
    return None if reason is None else _FINISHES.get(reason, "stop")
