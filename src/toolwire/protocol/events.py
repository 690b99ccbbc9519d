"""The one vocabulary inside the house: what happens during one assistant turn.

Parsers, native decoders, policy, collectors and encoders all speak these and nothing else.
A turn is any number of deltas and calls, then one `TurnEnd`. Usage is not an event: it belongs to
an attempt as a whole, whatever choices it has.
Calls never overlap: `CallStart(i)`, `ArgsDelta(i)`..., `CallEnd(i)`, then `CallStart(i + 1)`.
"""

from typing import Literal, TypeAlias

import msgspec

FinishReason: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


class TextDelta(msgspec.Struct, frozen=True, gc=False):
    """The next piece of the answer's text. `logprobs` is the backend's JSON for it, verbatim."""

    text: str
    logprobs: bytes = b""


class ReasoningDelta(msgspec.Struct, frozen=True, gc=False):
    """The next piece of the model's reasoning, which is not part of the answer."""

    text: str


class Extra(msgspec.Struct, frozen=True, gc=False):
    """Another field of the answer (refusal, annotations, audio, ...): JSON, passed on verbatim."""

    name: str
    json: bytes


class CallStart(msgspec.Struct, frozen=True, gc=False):
    """Call `index` begins. Sent once per call; indexes are 0, 1, 2, ... in the order of the calls.

    `provider_id` is the id the model or backend gave, if it gave one. `call_id` is ours: empty
    until the gateway mints it, so a parser never needs a source of randomness.
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
    """Call `index` is over. If `complete`, the joined arguments are one JSON object."""

    index: int
    complete: bool = True


class TurnEnd(msgspec.Struct, frozen=True, gc=False):
    """The turn is over, and why."""

    reason: FinishReason


Event: TypeAlias = TextDelta | ReasoningDelta | Extra | CallStart | ArgsDelta | CallEnd | TurnEnd
