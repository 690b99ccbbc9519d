"""The wire of the native API: every object that a client sends or gets.

These types are the only description of the wire. Requests are decoded by them, all faults of a
request are found by them (`faults.py`), and the API's reference is generated from them.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

NAME = "^[a-zA-Z0-9_]{1,64}$"
CONVERSATION_ID = "^[a-zA-Z0-9][a-zA-Z0-9._~-]{0,127}$"
NEW = "new"
"""Pass this as `conversation_id` to start a conversation with a generated id."""
LONGEST_WAIT = 60.0
LONGEST_ID = 256

ToolName: TypeAlias = Annotated[
    str, Meta(pattern=NAME, description="The tool's name: letters, digits and underscores.")
]
CallId: TypeAlias = Annotated[
    str,
    Meta(min_length=1, max_length=LONGEST_ID, description="The id of a call, as it was given."),
]
ConversationId: TypeAlias = Annotated[
    str,
    Meta(
        pattern=CONVERSATION_ID,
        description="The conversation to continue, or to begin if there is none of this id. "
        "`new` begins one under an id of the server's choice.",
    ),
]
FinishReason: TypeAlias = Annotated[
    Literal["stop", "length", "tool_calls", "content_filter"],
    Meta(
        description="Why the model stopped: `tool_calls` if it made calls, `length` if it reached "
        "the token limit."
    ),
]


# What a client sends.


class FunctionDefinition(msgspec.Struct):
    """A function that the model may call."""

    name: ToolName
    description: Annotated[
        str,
        Meta(pattern=r"\S", description="What it does, for the model. It must not be empty."),
    ]
    parameters: Annotated[
        dict[str, Any],
        Meta(description="A JSON Schema of its arguments. Its root must have `type: object`."),
    ]
    strict: Annotated[
        bool | None,
        Meta(description="Ignored, with a warning: every call is checked against its schema."),
    ] = None


class ToolDefinition(msgspec.Struct):
    """A tool that the model may call."""

    type: Annotated[Literal["function"], Meta(description="Always `function`.")]
    function: FunctionDefinition


class ChosenFunction(msgspec.Struct):
    """The function that the model must call."""

    name: Annotated[str, Meta(description="The name of one of the `tools`.")]


class NamedChoice(msgspec.Struct):
    """A `tool_choice` that names a function."""

    function: ChosenFunction
    type: Annotated[Literal["function"], Meta(description="Always `function`.")] = "function"


class CalledFunction(msgspec.Struct):
    """The function of a call, and its arguments."""

    name: Annotated[str, Meta(min_length=1, max_length=64, description="The tool's name.")]
    arguments: Annotated[
        dict[str, Any], Meta(description="The arguments: an object, not a string of JSON.")
    ]


class MessageToolCall(msgspec.Struct):
    """A call that the model made."""

    id: CallId
    function: CalledFunction
    type: Annotated[Literal["function"], Meta(description="Always `function`.")] = "function"


_Content: TypeAlias = Annotated[
    str | list[Raw],
    Meta(description="Text, or a list of content parts as in OpenAI's Chat Completions."),
]
_Speaker: TypeAlias = Annotated[
    str | None, Meta(description="A name that tells speakers of the same role apart.")
]


class SystemMessage(msgspec.Struct, tag_field="role", tag="system", omit_defaults=True):
    """Instructions. At the beginning of a request they replace those of the conversation."""

    content: _Content
    name: _Speaker = None


class DeveloperMessage(msgspec.Struct, tag_field="role", tag="developer", omit_defaults=True):
    """Instructions, under the newer name of the role."""

    content: _Content
    name: _Speaker = None


class UserMessage(msgspec.Struct, tag_field="role", tag="user", omit_defaults=True):
    """A message of the user."""

    content: _Content
    name: _Speaker = None


class AssistantMessage(msgspec.Struct, tag_field="role", tag="assistant", omit_defaults=True):
    """An earlier answer, as it was given."""

    content: Annotated[
        str | list[Raw] | None, Meta(description="Its text; null if it only made calls.")
    ] = None
    tool_calls: Annotated[list[MessageToolCall] | None, Meta(description="The calls it made.")] = (
        None
    )
    reasoning_content: Annotated[
        str | None, Meta(description="Its reasoning. Only some models want it back.")
    ] = None
    name: _Speaker = None


_ResultContent: TypeAlias = Annotated[
    Any,
    Meta(description="What the tool returned: text, or any other JSON, which the model gets as it"
         " is."),
]  # fmt: skip
_IsError: TypeAlias = Annotated[
    bool | None, Meta(description="Whether the tool failed. The model is told so.")
]


class ToolMessage(msgspec.Struct, tag_field="role", tag="tool", omit_defaults=True):
    """The result of a call, as a message."""

    tool_call_id: CallId
    content: _ResultContent
    is_error: _IsError = None


class ToolResult(msgspec.Struct):
    """The result of a call."""

    tool_call_id: CallId
    content: _ResultContent
    is_error: _IsError = None


MessageWire: TypeAlias = (
    SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage
)


class ChatRequest(msgspec.Struct):
    """The body of `POST /native/v1/chat`.

    All parameters of OpenAI's Chat Completions are accepted beside these, except `n`.
    """

    model: Annotated[
        str,
        Meta(min_length=1, max_length=256,
             description="The model. A conversation remembers the last one."),
    ] = ""  # fmt: skip
    messages: Annotated[
        list[MessageWire],
        Meta(description="The whole history; in a conversation, what is new. It may be empty if "
             "there are `tool_results`."),
    ] = []  # fmt: skip
    tool_results: Annotated[
        list[ToolResult],
        Meta(description="Results of the calls that the last answer made, in any order: the same "
             "as messages with the role `tool`."),
    ] = []  # fmt: skip
    tools: Annotated[
        list[ToolDefinition],
        Meta(description="The tools that the model may call. A conversation remembers them; a "
             "list replaces them, and an empty one removes them."),
    ] = []  # fmt: skip
    tool_choice: Annotated[
        Literal["auto", "none", "required"] | NamedChoice,
        Meta(description="Whether the model may, must not or must call a tool, or which one it "
             "must call."),
    ] = "auto"  # fmt: skip
    parallel_tool_calls: Annotated[
        bool, Meta(description="Whether an answer may make more than one call.")
    ] = True
    stream: Annotated[bool, Meta(description="Whether to send the answer as it is written.")] = (
        False
    )
    conversation_id: ConversationId | None = None
    wait: Annotated[
        float,
        Meta(ge=0, le=LONGEST_WAIT,
             description="Seconds to wait for another turn of the same conversation to end, "
             "instead of a 409."),
    ] = 0.0  # fmt: skip


# What a client gets.


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


class Problem(msgspec.Struct):
    """One problem of a request."""

    path: Annotated[str, Meta(description="Where it is, such as `tools[1].function.name`.")]
    code: Annotated[str | None, Meta(description="What it is.")]
    message: Annotated[str, Meta(description="What is wrong, and what to do.")]


class SaidCall(msgspec.Struct):
    """A call as the model wrote it."""

    name: str
    arguments: Annotated[str, Meta(description="Its arguments as text: they may be no JSON.")]
    code: Annotated[str | None, Meta(description="What is wrong with it; null if it fits.")] = None
    message: str | None = None


class ModelSaid(msgspec.Struct):
    """The model's output, for a program that handles the error itself."""

    content: str | None
    tool_calls: list[SaidCall]


class Error(msgspec.Struct, omit_defaults=True):
    """An error: OpenAI's four fields, and additional machine-readable fields."""

    message: str
    type: str
    param: str | None
    code: str | None
    problems: Annotated[
        list[Problem] | UnsetType, Meta(description="Everything that is wrong with the request.")
    ] = UNSET
    model_said: Annotated[
        ModelSaid | UnsetType, Meta(description="With 422: what the model said instead.")
    ] = UNSET


class ErrorResponse(msgspec.Struct):
    """The body of every error."""

    error: Error


class ErrorEvent(msgspec.Struct, tag_field="type", tag="error"):
    """The turn failed after the stream had started. This is the last event; nothing was stored."""

    error: Error


Event: TypeAlias = (
    TextDeltaEvent | ReasoningDeltaEvent | ToolCallEvent | UsageEvent | DoneEvent | ErrorEvent
)


class ConversationEntry(msgspec.Struct):
    """A conversation in a list."""

    id: str
    object: Literal["conversation"]
    created_at: Annotated[int, Meta(description="Seconds since 1970.")]
    updated_at: Annotated[int, Meta(description="When its last turn ended.")]
    bytes: Annotated[int, Meta(description="How much is stored of it.")]


class ConversationList(msgspec.Struct):
    """The caller's conversations, in the order of their ids."""

    object: Literal["list"]
    data: list[ConversationEntry]
    has_more: bool
    last_id: Annotated[str | None, Meta(description="Send it as `after` to get the next page.")] = (
        None
    )


class StoredConversation(msgspec.Struct):
    """A stored conversation."""

    id: str
    object: Literal["conversation"]
    created_at: int
    updated_at: int
    expires_at: Annotated[int, Meta(description="When it will be gone if nothing is added.")]
    model: str
    turns: int
    tools: Annotated[Raw, Meta(description="As they were sent.")]
    messages: Annotated[list[Raw], Meta(description="As they were sent and answered.")]


class DeletedConversation(msgspec.Struct):
    """The answer to a deletion."""

    id: str
    object: Literal["conversation"]
    deleted: bool
