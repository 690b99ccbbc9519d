"""The types of OpenAI's chat completions, as they are read and written.

Requests are read with these types. Answers are encoded piece by piece (`chunks.py`, `whole.py`);
their types are here for the description of the API.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Raw

from toolwire.surfaces.chat.params import PARAM_TYPES

NoCalls: TypeAlias = Annotated[
    Raw | msgspec.UnsetType,
    Meta(description="Only the assistant makes calls: null or empty."),
]
ContentWire: TypeAlias = str | list[Raw]
"""Text, or parts."""


class CalledFunctionWire(msgspec.Struct):
    """The function that was called. The arguments are JSON in a string."""

    name: str
    arguments: str


class CalledCustom(msgspec.Struct):
    """The custom tool that was called, with its text."""

    name: str
    input: str


class MessageToolCallWire(msgspec.Struct):
    """A call that the assistant made."""

    id: Annotated[str, Meta(min_length=1)]
    type: Literal["function", "custom"] = "function"
    function: CalledFunctionWire | None = None
    custom: CalledCustom | None = None


class SystemMessageWire(msgspec.Struct, tag_field="role", tag="system"):
    """Instructions."""

    content: ContentWire
    name: str | None = None
    tool_calls: NoCalls = msgspec.UNSET


class DeveloperMessageWire(msgspec.Struct, tag_field="role", tag="developer"):
    """Instructions, under the name that newer models use."""

    content: ContentWire
    name: str | None = None
    tool_calls: NoCalls = msgspec.UNSET


class UserMessageWire(msgspec.Struct, tag_field="role", tag="user"):
    """What the user said."""

    content: ContentWire
    name: str | None = None
    tool_calls: NoCalls = msgspec.UNSET


class AssistantMessageWire(msgspec.Struct, tag_field="role", tag="assistant"):
    """What the model said and called."""

    content: ContentWire | None = None
    tool_calls: list[MessageToolCallWire] | None = None
    function_call: dict[str, Any] | None = None
    reasoning_content: str | None = None
    name: str | None = None


class ToolMessageWire(msgspec.Struct, tag_field="role", tag="tool"):
    """The result of a call."""

    tool_call_id: str
    content: ContentWire
    tool_calls: NoCalls = msgspec.UNSET


MessageWire: TypeAlias = (
    SystemMessageWire
    | DeveloperMessageWire
    | UserMessageWire
    | AssistantMessageWire
    | ToolMessageWire
)


class StreamOptions(msgspec.Struct):
    """Options of a streamed answer."""

    include_usage: bool | None = None


class FunctionSpec(msgspec.Struct):
    """What a function is called, what it does, and the JSON Schema of its arguments."""

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionTool(msgspec.Struct, tag_field="type", tag="function"):
    """A function that the model may call."""

    function: FunctionSpec


class CustomSpec(msgspec.Struct):
    """A tool that takes text."""

    name: str
    description: str | None = None
    format: dict[str, Any] | None = None


class CustomTool(msgspec.Struct, tag_field="type", tag="custom"):
    """A tool that takes text instead of JSON, for backends that have such tools."""

    custom: CustomSpec


ChatRequest = msgspec.defstruct(
    "ChatRequest",
    [
        ("model", Annotated[str, Meta(min_length=1, max_length=256)]),
        ("messages", Annotated[list[MessageWire], Meta(min_length=1)]),
        ("tools", list[FunctionTool | CustomTool] | None, None),
        ("tool_choice", str | dict[str, Any] | None, None),
        ("parallel_tool_calls", bool | None, None),
        ("stream", bool | None, None),
        ("stream_options", StreamOptions | None, None),
        *((name, kind, None) for name, kind in PARAM_TYPES.items()),
    ],
    namespace={
        "__doc__": "A chat completion. Other parameters are accepted; those that the backend does "
        "not take are named in the header `toolwire-ignored-params`."
    },
)


class UsageWire(msgspec.Struct):
    """Tokens of a turn."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int] | None = None
    completion_tokens_details: dict[str, int] | None = None


class AnswerMessageWire(msgspec.Struct):
    """What the model said and called."""

    role: Literal["assistant"]
    content: str | None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[MessageToolCallWire] | None = None


FinishReasonWire: TypeAlias = Literal["stop", "length", "tool_calls", "content_filter"]


class AnswerChoiceWire(msgspec.Struct):
    """One of `n` answers."""

    index: int
    message: AnswerMessageWire
    finish_reason: FinishReasonWire
    logprobs: dict[str, Any] | None = None


class ChatCompletion(msgspec.Struct):
    """A whole answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[AnswerChoiceWire]
    usage: UsageWire
    system_fingerprint: str | None = None
    service_tier: str | None = None


class CalledFunctionDelta(msgspec.Struct):
    """The name comes once; the arguments come in pieces."""

    name: str | None = None
    arguments: str | None = None


class CustomDelta(msgspec.Struct):
    """The name comes once; the text comes in pieces."""

    name: str | None = None
    input: str | None = None


class ToolCallDelta(msgspec.Struct):
    """A piece of a call. The first one of a call has its id, type and name."""

    index: int
    id: str | None = None
    type: Literal["function", "custom"] | None = None
    function: CalledFunctionDelta | None = None
    custom: CustomDelta | None = None


class MessageDelta(msgspec.Struct):
    """A piece of what the model says and calls."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCallDelta] | None = None


class ChoiceDelta(msgspec.Struct):
    """A piece of one of `n` answers."""

    index: int
    delta: MessageDelta
    finish_reason: FinishReasonWire | None = None
    logprobs: dict[str, Any] | None = None


class ChatCompletionChunk(msgspec.Struct):
    """One event of a streamed answer. The stream ends with `data: [DONE]`, or with an error."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChoiceDelta]
    usage: UsageWire | None = None


class ModelWire(msgspec.Struct):
    """A model that is served, with OpenAI's fields and Anthropic's."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    type: Literal["model"]
    display_name: str
    created_at: str


class ModelListWire(msgspec.Struct):
    """The models that are served, with OpenAI's fields and Anthropic's."""

    object: Literal["list"]
    data: list[ModelWire]
    has_more: bool
    first_id: str | None
    last_id: str | None
