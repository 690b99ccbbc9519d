"""What an API offers, for its description: paths, types, events and errors.

Each surface lists its operations with the types that it reads and writes. `server/openapi.py` makes
the OpenAPI document of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
"""Errors that every operation may answer with."""
OF_A_TURN: ErrorKinds = (
    *ANYWHERE, ToolSchemaError, ModelNotFound, UpstreamError, UpstreamUnavailable, UpstreamTimeout,
)  # fmt: skip
"""Errors of an operation that asks a model."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter in the path, the query or a header."""

    name: str
    place: str
    description: str
    type: Any = str


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `answer`, `error` and the rest are types."""

    method: str
    path: str
    summary: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: Any = None
    """The type of the request's body, if it has one."""
    example: Mapping[str, Any] | None = None
    """A request's body."""
    answer: Any = None
    """The type of the answer's body; None: plain text."""
    events: Mapping[str, Any] = field(default_factory=dict)
    """The types of the events of a streamed answer, by their names. The name is empty where events
    have none."""
    errors: ErrorKinds = ANYWHERE
    statuses: Mapping[type[GatewayError], int] = field(default_factory=dict)
    """Statuses that errors have here and not elsewhere."""
    error: Any = None
    """The type of an error's body."""


@dataclass(frozen=True, slots=True)
class Api:
    """One API. `prefix` tells its types from those of other APIs that have the same names."""

    name: str
    prefix: str
    operations: tuple[Operation, ...]
