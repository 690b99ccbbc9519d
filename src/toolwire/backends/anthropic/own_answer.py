"""The parts of an answer that only a client of the same API understands.

They become `Extra` events, next to the text, the thinking and the calls that every client gets.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from toolwire.errors import UpstreamError
from toolwire.protocol.events import OWN_BLOCK, OWN_CITATION, OWN_END, OWN_FIELDS, OWN_SIGNATURE
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.json_numbers import decode_any

_COMMON = frozenset({"text", "thinking", "tool_use"})
"""Blocks that every client gets."""
_FIELDS = ("context_management", "container", "stop_details")
_FIGURES = frozenset(
    {"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"}
)
_encode = msgspec.json.Encoder().encode

_MOST_FIGURES = 100
"""The most members of a usage. Real ones have about ten."""
_MOST_OPEN = 16
"""The most blocks that are open at the same time. Real servers have one."""


class OwnParts:
    """Collects them. The events were decoded once already, so they are well-formed."""

    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, list[str]] = {}
        self._usage: dict[str, Any] = {}

    def event(self, kind: str, data: bytes) -> Fragment | None:
        """Return what an event of a stream adds."""
        if kind == "content_block_delta" and not self._is_own(data):
            return None
        event = decode_any(data)
        match kind:
            case "message_start":
                self._count(_object(_object(event.get("message")).get("usage")))
            case "content_block_start":
                self._start(event.get("index", 0), _object(event.get("content_block")))
            case "content_block_delta":
                return self._delta(event.get("index", 0), _object(event.get("delta")))
            case "content_block_stop":
                return self._stop(event.get("index", 0))
            case "message_delta":
                self._count(_object(event.get("usage")))
                return _fields({**event, **_object(event.get("delta"))}, self._usage)
        return None

    def _count(self, usage: dict[str, Any]) -> None:
        if len(usage) <= _MOST_FIGURES:
            self._usage |= usage
        if len(self._usage) > _MOST_FIGURES:
            self._usage = {}

    def _start(self, index: int, block: dict[str, Any]) -> None:
        if len(self._blocks) >= _MOST_OPEN:
            raise UpstreamError("The backend's answer has too many unfinished blocks.")
        self._blocks[index] = block
        if block.get("type") not in _COMMON:
            self._inputs[index] = []

    def _is_own(self, data: bytes) -> bool:
        """Whether a delta may be one that other clients do not get."""
        return bool(self._inputs) or b"signature_delta" in data or b"citations_delta" in data

    def _delta(self, index: int, delta: dict[str, Any]) -> Fragment | None:
        if index in self._inputs:
            self._inputs[index].append(str(delta.get("partial_json", "")))
        elif delta.get("type") == "signature_delta":
            return _extra(OWN_SIGNATURE, delta.get("signature"))
        elif delta.get("type") == "citations_delta":
            return _extra(OWN_CITATION, delta.get("citation"))
        return None

    def _stop(self, index: int) -> Fragment | None:
        block, written = self._blocks.pop(index, {}), "".join(self._inputs.pop(index, ()))
        if written:
            block["input"] = _object(_decoded(written))
        if block.get("type") == "text":
            return _extra(OWN_END, None)
        if not block or block.get("type") in _COMMON:
            return None
        return _extra(OWN_BLOCK, block)


def whole_parts(body: bytes) -> tuple[list[list[Fragment]], list[Fragment]]:
    """Return what each block of a whole message adds, and what the message itself does."""
    message = decode_any(body)
    more = _fields(message, _object(message.get("usage")))
    blocks = [list(_of_block(block)) for block in message.get("content", ())]
    return blocks, [] if more is None else [more]


def _of_block(block: dict[str, Any]) -> Iterator[Fragment]:
    if block.get("type") not in _COMMON:
        yield _extra(OWN_BLOCK, block)
    for citation in block.get("citations") or ():
        yield _extra(OWN_CITATION, citation)
    if block.get("type") == "text":
        yield _extra(OWN_END, None)
    elif block.get("signature"):
        yield _extra(OWN_SIGNATURE, block["signature"])


def _fields(message: dict[str, Any], usage: dict[str, Any]) -> Fragment | None:
    fields = {name: message[name] for name in _FIELDS if message.get(name) is not None}
    if more := {name: usage[name] for name in usage.keys() - _FIGURES}:
        fields["usage"] = more
    return _extra(OWN_FIELDS, fields) if fields else None


def _extra(name: str, value: object) -> Fragment:
    return Fragment(extras=((name, _encode(value)),))


def _decoded(text: str) -> object:
    try:
        return decode_any(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
