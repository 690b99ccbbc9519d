"""The events of one assistant turn.

Every parser, stage, collector and encoder works on these events. A turn is any number of deltas and
calls, then one `TurnEnd`. Usage is not an event, because it is counted per attempt, not per choice.
Calls never overlap: `CallStart(i)`, `ArgsDelta(i)`..., `CallEnd(i)`, then `CallStart(i + 1)`.
"""

from typing import Literal, TypeAlias

import msgspec

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    """The next piece of the answer's text. `logprobs` is the backend's own JSON, if it sent any."""

    text: str
    logprobs: bytes = b""


class ReasoningDelta(msgspec.Struct, frozen=True, gc=False):
    """The next piece of the model's reasoning, which is not part of the answer."""

    text: str


class Extra(msgspec.Struct, frozen=True, gc=False):
    """Another field of the answer (refusal, annotations, audio, ...), as the backend's own JSON."""

    name: str
    json: bytes


OWN_BLOCK = "own_block"
OWN_END = "own_end"
OWN_CITATION = "own_citation"
OWN_SIGNATURE = "own_signature"
OWN_FIELDS = "own_fields"
"""Names of an `Extra` for a client that speaks the backend's own API: a content block of another
type, the end of a text block, a citation or a signature of the current block, and fields of the
message."""


class CallStart(msgspec.Struct, frozen=True, gc=False):
    """Call `index` begins. Sent once per call. Calls are numbered 0, 1, 2, ... in order.

    `provider_id` is the id that the model or the backend gave, if any. `call_id` is the id that
    clients get: parsers leave it empty, and the gateway fills it in.
    """

    index: int
    name: str
    call_id: str = ""
    provider_id: str | None = None
    kind: Literal["function", "custom"] = "function"


class ArgsDelta(msgspec.Struct, frozen=True, gc=False):
    """The next piece of call `index`'s arguments: JSON text, append-only."""

    index: int
    json: str


class CallEnd(msgspec.Struct, frozen=True, gc=False):
    """Call `index` ends. If it is `complete`, the joined arguments are one JSON object.

    `unread` is the text of a call in the model's text that cannot be read, instead of arguments.
    `cut`: that text ends within the call.
    """

    index: int
    complete: bool = True
    unread: str = ""
    cut: bool = False


class TurnEnd(msgspec.Struct, frozen=True, gc=False):
    """The turn ends, with its finish reason."""

    reason: FinishReason


Event: TypeAlias = TextDelta | ReasoningDelta | Extra | CallStart | ArgsDelta | CallEnd | TurnEnd
