"""The tools of a request, and the calls of earlier answers."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from toolwire.surfaces.native.wire.values import CallId, ToolName


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
