"""Describes the operations of an API: paths, types, events and errors.

Each surface lists its operations with the types that it decodes and encodes.
`server/apis/openapi.py` generates the OpenAPI document from them.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from toolwire.errors import (
    Forbidden,
    GatewayError,
    InternalError,
    ModelNotFound,
    Overloaded,
    RequestError,
    ShuttingDown,
    TooLarge,
    ToolSchemaError,
    Unauthorized,
    UpstreamError,
    UpstreamTimeout,
    UpstreamUnavailable,
)

ErrorKinds = tuple[type[GatewayError], ...]

ANYWHERE: ErrorKinds = (
    RequestError, Unauthorized, Forbidden, TooLarge, Overloaded, ShuttingDown, InternalError,
)  # fmt: skip
"""Errors that every operation may return."""
OF_A_TURN: ErrorKinds = (
    *ANYWHERE, ToolSchemaError, ModelNotFound, UpstreamError, UpstreamUnavailable, UpstreamTimeout,
)  # fmt: skip
"""Errors of an operation that calls a model."""
EXAMPLE_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


class Parameter(msgspec.Struct, frozen=True):
    """A parameter in the path, the query or a header."""

    name: str
    place: str
    description: str
    type: Any = str


class Operation(msgspec.Struct, frozen=True):
    """One method of one path. `answer`, `error` and the rest are types."""

    method: str
    path: str
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body, if it has one."""
    example: Mapping[str, Any] | None = None
    """An example request body."""
    answer: Any = None
    """The type of the answer's body; None: plain text."""
    events: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """The types of the events of a streamed answer, by event name. Unnamed events have an empty
    name."""
    errors: ErrorKinds = ANYWHERE
    statuses: Mapping[type[GatewayError], int] = msgspec.field(default_factory=dict)
    """Additional error statuses of this operation."""
    error: Any = None
    """The type of an error's body."""


class Api(msgspec.Struct, frozen=True):
    """One API. `prefix` distinguishes its types from equally named types of other APIs."""

    name: str
    prefix: str
    operations: tuple[Operation, ...]
