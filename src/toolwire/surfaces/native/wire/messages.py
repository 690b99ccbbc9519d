"""The messages that a client sends."""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Raw

from toolwire.surfaces.native.wire.tools import MessageToolCall
from toolwire.surfaces.native.wire.values import CallId

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
