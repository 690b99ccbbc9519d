"""Encodes events as `chat.completion.chunk` events.

Uses byte templates, so the constant parts are encoded once per stream.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

import msgspec

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
from toolwire.protocol.sse import DONE
from toolwire.protocol.tool_cache import safe_name
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.chat.answer import encode_usage

_encode = msgspec.json.Encoder().encode


class CompletionHead(msgspec.Struct, frozen=True):
    """The fields that all chunks of an answer share."""

    response_id: str
    created: int
    model: str
    names: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Original names of tools that were renamed for backends."""
    call_id_in_deltas: bool = False

    def client_name(self, name: str) -> str:
        """Return a tool's name for the client. A name that the model made up may be invalid, and
        the client would be refused when it sends the call back."""
        return self.names.get(name) or safe_name(name)


class ChunkEncoder:
    """One stream. Each choice gets its role once, before anything else."""

    def __init__(self, head: CompletionHead, *, include_usage: bool) -> None:
        self.characters = 0
        self._head = head
        self._roles: set[int] = set()
        self._call_ids: dict[tuple[int, int], bytes] = {}
        self._custom: set[tuple[int, int]] = set()
        start = b'data: {"id":%b,"object":"chat.completion.chunk","created":%d,"model":%b,' % (
            _encode(head.response_id),
            head.created,
            _encode(head.model),
        )
        self._start = start
        self._first = start + b'"choices":[{"index":0,"delta":'
        self._tail = b',"usage":null}\n\n' if include_usage else b"}\n\n"
        self._open = b',"logprobs":null,"finish_reason":null}]' + self._tail
        arguments = b'{"tool_calls":[{"index":%d,"function":{"arguments":%b}}]}'
        self._more = self._first.replace(b"%", b"%%") + arguments + self._open

    def encode(self, choice: int, events: Sequence[Event]) -> bytes:
        """Encode the next events of one choice."""
        chunks: list[bytes] = []
        if choice not in self._roles and events:
            self._roles.add(choice)
            blank = b'""' if isinstance(events[0], TextDelta) else b"null"
            chunks.append(self._chunk(choice, b'{"role":"assistant","content":%b}' % blank))
        for event in events:
            # Not `match`, which takes several times as long.
            if isinstance(event, ArgsDelta):
                self.characters += len(event.json)
                chunks.append(self._arguments(choice, event.index, event.json))
            elif isinstance(event, TextDelta):
                self.characters += len(event.text)
                delta = b'{"content":%b}' % _encode(event.text)
                chunks.append(self._chunk(choice, delta, event.logprobs))
            elif isinstance(event, ReasoningDelta):
                self.characters += len(event.text)
                delta = b'{"reasoning_content":%b}' % _encode(event.text)
                chunks.append(self._chunk(choice, delta))
            elif isinstance(event, CallStart):
                chunks.append(self._chunk(choice, self._call(choice, event)))
            elif isinstance(event, Extra):
                delta = b"{%b:%b}" % (_encode(event.name), event.json)
                chunks.append(self._chunk(choice, delta))
            elif not isinstance(event, CallEnd | TurnEnd):
                assert_never(event)
        return b"".join(chunks)

    def end(
        self,
        reasons: Sequence[tuple[int, FinishReason]],
        usage: TokenUsage | None,
        notes: Mapping[str, object],
        about: Mapping[str, str] | None = None,
    ) -> bytes:
        """Encode the last chunks: finish reasons, usage if requested, Toolwire's notes, `[DONE]`.

        `about` is the backend's metadata of the answer. Clients keep that of the last chunk.
        """
        start = self._start
        for name, value in (about or {}).items():
            start += b"%b:%b," % (_encode(name), _encode(value))
        chunks = [
            start
            + b'"choices":[{"index":%d,"delta":{},"logprobs":null,"finish_reason":%b}]'
            % (choice, _encode(reason))
            + self._tail
            for choice, reason in reasons
        ]
        if usage is not None:
            chunks.append(start + b'"choices":[],"usage":' + encode_usage(usage) + b"}\n\n")
        if notes:
            chunks[-1] = chunks[-1][:-3] + b',"toolwire":' + _encode(notes) + b"}\n\n"
        chunks.append(DONE)
        return b"".join(chunks)

    def _chunk(self, choice: int, delta: bytes, logprobs: bytes = b"") -> bytes:
        if not choice and not logprobs:
            return self._first + delta + self._open
        return (
            self._start
            + b'"choices":[{"index":%d,"delta":' % choice
            + delta
            + b',"logprobs":%b,"finish_reason":null}]' % (logprobs or b"null")
            + self._tail
        )

    def _call(self, choice: int, event: CallStart) -> bytes:
        name = _encode(self._head.client_name(event.name))
        call_id = _encode(event.call_id)
        extra = b""
        if event.kind == "custom":
            self._custom.add((choice, event.index))
        if self._head.call_id_in_deltas:
            extra = self._call_ids[choice, event.index] = b',"call_id":' + call_id
        inner = (
            b'{"name":%b,"input":""}' if event.kind == "custom" else b'{"name":%b,"arguments":""}'
        )
        return b'{"tool_calls":[{"index":%d,"id":%b%b,"type":"%b","%b":%b}]}' % (
            event.index,
            call_id,
            extra,
            event.kind.encode(),
            event.kind.encode(),
            inner % name,
        )

    def _arguments(self, choice: int, index: int, json: str) -> bytes:
        if not (choice or self._custom or self._call_ids):
            return self._more % (index, _encode(json))
        call = choice, index
        inner = b'"custom":{"input":%b}' if call in self._custom else b'"function":{"arguments":%b}'
        return self._chunk(
            choice,
            b'{"tool_calls":[{"index":%d%b,%b}]}'
            % (index, self._call_ids.get(call, b""), inner % _encode(json)),
        )
