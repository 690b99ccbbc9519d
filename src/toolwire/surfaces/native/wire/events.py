"""The events of a streamed answer."""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from toolwire.surfaces.native.wire.answer import AnsweredCall, AnswerWarning
from toolwire.surfaces.native.wire.errors import Error
from toolwire.surfaces.native.wire.values import FinishReason


class TextDeltaEvent(msgspec.Struct, tag_field="type", tag="text.delta", omit_defaults=True):
    """The next piece of the answer's text."""

    delta: str
    logprobs: Annotated[Raw | UnsetType, Meta(extra_json_schema={"type": "object"})] = UNSET


class ReasoningDeltaEvent(msgspec.Struct, tag_field="type", tag="reasoning.delta"):
    """The next piece of the model's reasoning."""

    delta: str


class ToolCallEvent(msgspec.Struct, tag_field="type", tag="tool_call"):
    """A call: complete, parsed and valid."""

    index: Annotated[int, Meta(ge=0, description="0, 1, 2, ... in the order of the calls.")]
    tool_call: AnsweredCall


class UsageEvent(msgspec.Struct, tag_field="type", tag="usage"):
    """The token usage of the answer."""

    usage: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


class DoneEvent(msgspec.Struct, tag_field="type", tag="done", omit_defaults=True):
    """The end of the answer. If the stream ends without it, the answer is not complete."""

    id: str
    created: int
    model: str
    finish_reason: FinishReason
    conversation_id: str | None
    warnings: list[AnswerWarning]
    refusal: str | UnsetType = UNSET
    call_map: Annotated[
        str | UnsetType,
        Meta(description="The value of the header `toolwire-call-map` for the next request."),
    ] = UNSET


class ErrorEvent(msgspec.Struct, tag_field="type", tag="error"):
    """The turn failed after the stream had started. This is the last event; nothing was stored."""

    error: Error


Event: TypeAlias = (
    TextDeltaEvent | ReasoningDeltaEvent | ToolCallEvent | UsageEvent | DoneEvent | ErrorEvent
)
