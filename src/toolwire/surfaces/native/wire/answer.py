"""The body of an answer."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from toolwire.surfaces.native.wire.values import CallId, FinishReason


class AnswerWarning(msgspec.Struct, omit_defaults=True):
    """A warning about an answer."""

    code: Annotated[str, Meta(description="What it is: one of a fixed list.")]
    message: Annotated[str, Meta(description="A sentence for a reader.")]
    param: Annotated[str | None, Meta(description="The parameter that it is about.")] = None


class AnsweredFunction(msgspec.Struct):
    """The function of a call, and its arguments: parsed, and valid by the tool's schema."""

    name: str
    arguments: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]


class AnsweredCall(msgspec.Struct):
    """A valid call that the model made."""

    id: CallId
    type: Literal["function"]
    function: AnsweredFunction


class AnswerMessage(msgspec.Struct, omit_defaults=True):
    """The answer. It can be sent back as a message."""

    role: Literal["assistant"]
    content: Annotated[str | None, Meta(description="Its text; null if it only makes calls.")]
    tool_calls: Annotated[
        list[AnsweredCall] | UnsetType, Meta(description="The calls that it makes, if any.")
    ] = UNSET
    reasoning_content: Annotated[
        str | UnsetType, Meta(description="The model's reasoning, if it gave any.")
    ] = UNSET
    refusal: Annotated[str | UnsetType, Meta(description="Why the model refuses, if it does.")] = (
        UNSET
    )


class AnswerChoice(msgspec.Struct, omit_defaults=True):
    """The answer and how it ended."""

    index: Annotated[Literal[0], Meta(description="Always 0.")]
    message: AnswerMessage
    finish_reason: FinishReason
    logprobs: Annotated[Raw | UnsetType, Meta(extra_json_schema={"type": "object"})] = UNSET


class ChatResponse(msgspec.Struct):
    """The answer to `POST /native/v1/chat`."""

    id: Annotated[str, Meta(description="The id of this answer.")]
    object: Literal["chat.completion"]
    created: Annotated[int, Meta(description="Seconds since 1970.")]
    model: str
    choices: Annotated[list[AnswerChoice], Meta(min_length=1, max_length=1)]
    usage: Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
    conversation_id: Annotated[
        str | None, Meta(description="The conversation; null if there is none.")
    ]
    warnings: list[AnswerWarning]
