"""Converts events to content blocks: as a stream of events, or as a list.

One block is open at a time. Text that arrives during a call waits for the end of the call. Thinking
that the client did not request is omitted, because some clients retry a request that returns it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from toolwire.gateway.repair.rules import EVERY_RULE
from toolwire.protocol.events import (
    OWN_BLOCK,
    OWN_CITATION,
    OWN_END,
    OWN_FIELDS,
    OWN_SIGNATURE,
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
from toolwire.protocol.json_numbers import decode_any
from toolwire.surfaces.messages.thinking import signature

Kind: TypeAlias = Literal["", "text", "thinking", "tool_use"]

STOP_REASONS: Mapping[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}
_encode = msgspec.json.Encoder().encode
_HEAD = b'event: content_block_%b\ndata: {"type":"content_block_%b","index":%%d'
_START = _HEAD % (b"start", b"start") + b',"content_block":%b}\n\n'
_DELTA = _HEAD % (b"delta", b"delta") + b',"delta":{"type":"%b",%b:%%b}}\n\n'
_STOP = _HEAD % (b"stop", b"stop") + b"}\n\n"
_DELTAS: Mapping[str, bytes] = {
    "text": _DELTA.replace(b"%d", b"%%d") % (b"text_delta", b'"text"'),
    "thinking": _DELTA.replace(b"%d", b"%%d") % (b"thinking_delta", b'"thinking"'),
    "signature": _DELTA.replace(b"%d", b"%%d") % (b"signature_delta", b'"signature"'),
    "citation": _DELTA.replace(b"%d", b"%%d") % (b"citations_delta", b'"citation"'),
    "tool_use": _DELTA.replace(b"%d", b"%%d") % (b"input_json_delta", b'"partial_json"'),
}
_EMPTY: Mapping[str, bytes] = {
    "text": b'{"type":"text","text":""}',
    "thinking": b'{"type":"thinking","thinking":"","signature":""}',
}


class Blocks(ABC):
    """Tracks one answer: which block is open, and how the answer ends. `names` maps renamed tools
    to the client's names."""

    def __init__(self, names: Mapping[str, str], *, thinking: bool) -> None:
        self.characters = 0
        self.hidden = 0
        """Characters of thinking hidden from the client."""
        self.count = 0
        """The number of blocks started."""
        self._names = names
        self._thinking = thinking
        self._signed = ""
        """The backend's own signature of the open block."""
        self._open: Kind = ""
        self._held: list[str] = []
        self._spoke = False
        """Whether there is any block except thinking."""
        self._ends_with_call = False
        self._reason: FinishReason = "stop"
        self.fields: dict[str, Any] = {}
        """Fields of the message that the backend added."""

    @property
    def stop_reason(self) -> str:
        """Why the answer ended. A complete call counts as `tool_use`, even if the token limit was
        reached right after it."""
        if self._reason == "length" and self._ends_with_call:
            return "tool_use"
        return STOP_REASONS[self._reason]

    def feed(self, events: Sequence[Event]) -> None:
        """Process the next events."""
        for event in events:
            if isinstance(event, TextDelta):
                self._text(event.text)
            elif isinstance(event, ArgsDelta):
                self.characters += len(event.json)
                self._add("tool_use", event.json)
            elif isinstance(event, ReasoningDelta):
                self.characters += len(event.text)
                if not self._thinking:
                    self.hidden += len(event.text)
                elif self._open != "tool_use":
                    self._go_on("thinking")
                    self._add("thinking", event.text)
            elif isinstance(event, CallStart):
                self._close()
                self._open, self._spoke, self._ends_with_call = "tool_use", True, False
                self._begin_call(event.call_id, self._names.get(event.name, event.name))
                self.count += 1
            elif isinstance(event, CallEnd):
                self._ends_with_call = event.complete
                self._close()
                self._release()
            elif isinstance(event, TurnEnd):
                self._reason = event.reason
            elif isinstance(event, Extra):
                self._extra(event)

    def _extra(self, event: Extra) -> None:
        """Process what only some backends have; see `OWN_BLOCK` for those of this API."""
        value = decode_any(event.json)
        if event.name == "refusal":
            self._text(str(value))
        elif event.name == OWN_FIELDS:
            self.fields |= value
        elif event.name == OWN_BLOCK:
            self._close()
            self._spoke = self._spoke or value.get("type") != "redacted_thinking"
            self._add_block(value)
            self.count += 1
        elif event.name == OWN_SIGNATURE and self._thinking:
            self._go_on("thinking")
            self._signed = value
            self._close()
        elif self._open == "text" and event.name == OWN_CITATION:
            self._cite(value)
        elif self._open == "text" and event.name == OWN_END:
            self._close()

    def finish(self) -> None:
        """End the answer. It always has at least one block that is not thinking."""
        self._close()
        self._release()
        if not self._spoke:
            self._go_on("text")
        self._close()

    def _text(self, text: str) -> None:
        self.characters += len(text)
        if self._open == "tool_use":
            self._held.append(text)
            return
        if self._open != "text":
            self._ends_with_call = False
            self._spoke = True
            self._go_on("text")
        self._add("text", text)

    def _release(self) -> None:
        if self._held:
            held, self._held = "".join(self._held), []
            self.characters -= len(held)
            self._text(held)

    def _go_on(self, kind: Literal["text", "thinking"]) -> None:
        if self._open != kind:
            self._close()
            self._open = kind
            self._begin(kind)
            self.count += 1

    def _close(self) -> None:
        if self._open:
            self._end(self._open)
            self._open, self._signed = "", ""

    @abstractmethod
    def _begin(self, kind: Literal["text", "thinking"]) -> None:
        """Start a block."""

    @abstractmethod
    def _begin_call(self, call_id: str, name: str) -> None:
        """Start a call."""

    @abstractmethod
    def _add(self, kind: Kind, text: str) -> None:
        """Add text to the open block."""

    @abstractmethod
    def _end(self, kind: Kind) -> None:
        """End the open block."""

    @abstractmethod
    def _add_block(self, block: dict[str, Any]) -> None:
        """Add a whole block."""

    @abstractmethod
    def _cite(self, citation: Any) -> None:
        """Add a citation to the open block."""


class BlockStream(Blocks):
    """Encodes the events of a stream. `take` returns the encoded bytes."""

    def __init__(self, names: Mapping[str, str], *, thinking: bool) -> None:
        super().__init__(names, thinking=thinking)
        self._out: list[bytes] = []
        self._thought: list[str] = []
        self._bare = True
        """Whether the open call has no arguments so far."""

    def take(self) -> bytes:
        """Return the bytes since the last call of `take`."""
        out = b"".join(self._out)
        self._out.clear()
        return out

    def _begin(self, kind: Literal["text", "thinking"]) -> None:
        self._out.append(_START % (self.count, _EMPTY[kind]))

    def _begin_call(self, call_id: str, name: str) -> None:
        self._bare = True
        block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
        self._out.append(_START % (self.count, _encode(block)))

    def _add(self, kind: Kind, text: str) -> None:
        if kind == "thinking":
            self._thought.append(text)
        elif kind == "tool_use":
            self._bare = False
        self._out.append(_DELTAS[kind] % (self.count - 1, _encode(text)))

    def _end(self, kind: Kind) -> None:
        at = self.count - 1
        if kind == "thinking":
            signed = self._signed or signature("".join(self._thought))
            self._out.append(_DELTAS["signature"] % (at, _encode(signed)))
            self._thought.clear()
        elif kind == "tool_use" and self._bare:
            self._out.append(_DELTAS["tool_use"] % (at, b'"{}"'))
        self._out.append(_STOP % at)

    def _add_block(self, block: dict[str, Any]) -> None:
        given = block.get("input")
        start = {**block, "input": {}} if given else block
        self._out.append(_START % (self.count, _encode(start)))
        if given:
            self._out.append(_DELTAS["tool_use"] % (self.count, _encode(_encode(given).decode())))
        self._out.append(_STOP % self.count)

    def _cite(self, citation: Any) -> None:
        self._out.append(_DELTAS["citation"] % (self.count - 1, _encode(citation)))


class BlockList(Blocks):
    """Collects the blocks of a whole answer."""

    def __init__(self, names: Mapping[str, str], *, thinking: bool) -> None:
        super().__init__(names, thinking=thinking)
        self.blocks: list[dict[str, Any]] = []
        self.unreadable: list[str] = []
        """Tools called with arguments that are not a JSON object."""
        self._pieces: list[str] = []

    def _begin(self, kind: Literal["text", "thinking"]) -> None:
        self.blocks.append({"type": kind, kind: ""})

    def _begin_call(self, call_id: str, name: str) -> None:
        self.blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": {}})

    def _add(self, kind: Kind, text: str) -> None:  # noqa: ARG002
        self._pieces.append(text)

    def _end(self, kind: Kind) -> None:
        block, said = self.blocks[-1], "".join(self._pieces)
        self._pieces.clear()
        if kind == "tool_use":
            arguments = _object(said)
            if arguments is None:
                self.unreadable.append(block["name"])
            block["input"] = arguments or {}
            return
        block[kind] = said
        if kind == "thinking":
            block["signature"] = self._signed or signature(said)

    def _add_block(self, block: dict[str, Any]) -> None:
        self.blocks.append(block)

    def _cite(self, citation: Any) -> None:
        self.blocks[-1].setdefault("citations", []).append(citation)


def _object(arguments: str) -> dict[str, Any] | None:
    """Return the arguments as an object, or None if they cannot be converted."""
    text = arguments if arguments.strip() else "{}"
    for repair in (str, EVERY_RULE.as_json):
        try:
            value = decode_any(repair(text) or "")
        except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
            continue
        if isinstance(value, dict):
            return value
    return None
