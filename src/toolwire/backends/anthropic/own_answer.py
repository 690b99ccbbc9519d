"""The parts of an answer that only a client of the same API understands.

They become `Extra` events, next to the text, the thinking and the calls that every client gets.
Their values are not decoded but copied, which takes the same time whatever they are.
"""

from collections.abc import Iterator
from typing import TypeGuard

import msgspec
from msgspec import Raw

from toolwire.errors import UpstreamError
from toolwire.protocol.events import OWN_BLOCK, OWN_CITATION, OWN_END, OWN_FIELDS, OWN_SIGNATURE
from toolwire.protocol.fragments import Fragment

_COMMON = frozenset({"text", "thinking", "tool_use"})
"""Blocks that every client gets."""
_FIELDS = ("context_management", "container", "stop_details")
_FIGURES = frozenset(
    {"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"}
)
_Fields = dict[str, Raw]
_decode_fields = msgspec.json.Decoder(_Fields).decode
_decode_list = msgspec.json.Decoder(list[Raw]).decode
_decode_text = msgspec.json.Decoder(str).decode
_NULL = Raw(b"null")
_skip = msgspec.json.Decoder(Raw).decode
_encode = msgspec.json.Encoder().encode

_MOST_FIGURES = 100
"""The most members of a usage. Real ones have about ten."""
_MOST_OPEN = 16
"""The most blocks that are open at the same time. Real servers have one."""


class OwnParts:
    """Collects them. The events were decoded once already, so they are well-formed."""

    def __init__(self) -> None:
        self._blocks: dict[int, _Fields] = {}
        self._inputs: dict[int, list[str]] = {}
        self._usage: _Fields = {}

    def event(self, kind: str, index: int, data: bytes) -> Fragment | None:
        """Return what an event of a stream adds."""
        if kind == "content_block_delta" and not self._is_own(data):
            return None
        event = _decode_fields(data)
        match kind:
            case "message_start":
                self._count(_object(_object(event.get("message")).get("usage")))
            case "content_block_start":
                self._start(index, _object(event.get("content_block")))
            case "content_block_delta":
                return self._delta(index, _object(event.get("delta")))
            case "content_block_stop":
                return self._stop(index)
            case "message_delta":
                self._count(_object(event.get("usage")))
                return _fields({**event, **_object(event.get("delta"))}, self._usage)
        return None

    def _count(self, usage: _Fields) -> None:
        if len(usage) <= _MOST_FIGURES:
            self._usage |= usage
        if len(self._usage) > _MOST_FIGURES:
            self._usage = {}

    def _start(self, index: int, block: _Fields) -> None:
        if len(self._blocks) >= _MOST_OPEN:
            raise UpstreamError("The backend's answer has too many unfinished blocks.")
        self._blocks[index] = block
        if _text(block, "type") not in _COMMON:
            self._inputs[index] = []

    def _is_own(self, data: bytes) -> bool:
        """Whether a delta may be one that other clients do not get."""
        return bool(self._inputs) or b"signature_delta" in data or b"citations_delta" in data

    def _delta(self, index: int, delta: _Fields) -> Fragment | None:
        if index in self._inputs:
            self._inputs[index].append(_text(delta, "partial_json"))
        elif _text(delta, "type") == "signature_delta":
            return _extra(OWN_SIGNATURE, delta.get("signature"))
        elif _text(delta, "type") == "citations_delta":
            return _extra(OWN_CITATION, delta.get("citation"))
        return None

    def _stop(self, index: int) -> Fragment | None:
        block, written = self._blocks.pop(index, {}), "".join(self._inputs.pop(index, ()))
        if written:
            block["input"] = Raw(written if _is_object(written) else "{}")
        kind = _text(block, "type")
        if kind == "text":
            return _extra(OWN_END, None)
        return None if not block or kind in _COMMON else _extra(OWN_BLOCK, block)


def whole_parts(body: bytes) -> tuple[list[list[Fragment]], list[Fragment]]:
    """Return what each block of a whole message adds, and what the message itself does."""
    message = _decode_fields(body)
    more = _fields(message, _object(message.get("usage")))
    blocks = [list(_of_block(_object(block))) for block in _list(message.get("content"))]
    return blocks, [] if more is None else [more]


def _of_block(block: _Fields) -> Iterator[Fragment]:
    kind = _text(block, "type")
    if kind not in _COMMON:
        yield _extra(OWN_BLOCK, block)
    for citation in _list(block.get("citations")):
        yield _extra(OWN_CITATION, citation)
    if kind == "text":
        yield _extra(OWN_END, None)
    elif _text(block, "signature"):
        yield _extra(OWN_SIGNATURE, block["signature"])


def _fields(message: _Fields, usage: _Fields) -> Fragment | None:
    fields: dict[str, object] = {
        name: message[name] for name in _FIELDS if message.get(name, _NULL) != _NULL
    }
    if more := {name: usage[name] for name in usage.keys() - _FIGURES}:
        fields["usage"] = more
    return _extra(OWN_FIELDS, fields) if fields else None


def _extra(name: str, value: object) -> Fragment:
    json = _encode(value)
    json.decode()  # raises: values that are only copied may hold any bytes
    return Fragment(extras=((name, json),))


def _is_object(text: str) -> bool:
    try:
        _skip(text)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return False
    return text.lstrip()[:1] == "{"


def _object(value: Raw | None) -> _Fields:
    return _decode_fields(value) if _begins(value, b"{") else {}


def _list(value: Raw | None) -> list[Raw]:
    return _decode_list(value) if _begins(value, b"[") else []


def _text(fields: _Fields, name: str) -> str:
    return _decode_text(fields[name]) if _begins(fields.get(name), b'"') else ""


def _begins(value: Raw | None, mark: bytes) -> TypeGuard[Raw]:
    return value is not None and memoryview(value)[:1] == mark
