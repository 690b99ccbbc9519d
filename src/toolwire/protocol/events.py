"""The one vocabulary inside the house: what happens during one assistant turn.

Parsers, native decoders, policy, collectors and encoders all speak these and nothing else.
A turn is any number of deltas and calls, then at most one `Usage`, then one `TurnEnd`.
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


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens consumed by the turn. `details` is the backend's own extra JSON object, verbatim."""

    prompt_tokens: int
    completion_tokens: int
    details: bytes = b""

    @property
    def total_tokens(self) -> int:
        """Always the sum, whatever a backend claimed (spec 1.8)."""
        return self.prompt_tokens + self.completion_tokens


def add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    """What two requests consumed together; the details of the later one."""
    if one is None or other is None:
        return other or one
    return Usage(
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        other.details,
    )


class TurnEnd(msgspec.Struct, frozen=True, gc=False):
    """The turn is over, and why."""

    reason: FinishReason


Event: TypeAlias = (
    TextDelta | ReasoningDelta | Extra | CallStart | ArgsDelta | CallEnd | Usage | TurnEnd
)
