"""The body of an error."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType


class Problem(msgspec.Struct):
    """One problem of a request."""

    path: Annotated[str, Meta(description="Where it is, such as `tools[1].function.name`.")]
    code: Annotated[str | None, Meta(description="What it is.")]
    message: Annotated[str, Meta(description="What is wrong, and what to do.")]


class SaidCall(msgspec.Struct):
    """A call as the model wrote it."""

    name: str
    arguments: Annotated[str, Meta(description="Its arguments as text, which may not be JSON.")]
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
