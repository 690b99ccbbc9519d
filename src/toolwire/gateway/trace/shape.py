"""The types of a trace's JSON, for replay. `trace.text` writes it."""

from typing import Any, TypeAlias

import msgspec

from toolwire.gateway.strategies.base import StrategyKind
from toolwire.gateway.tool_limits import ToolLimits

SpanRecord: TypeAlias = tuple[int, int, str, str]


class Profiled(msgspec.Struct):
    """The request as received."""

    body: str
    profile: str


class Planned(msgspec.Struct):
    """The plan of the request."""

    model: str
    delivery: str
    rules: list[str]
    whole_streams: bool
    loop_after: int
    repair_history: bool
    custom_tools: bool
    tool_limits: ToolLimits | None = None


class Strategy(msgspec.Struct, forbid_unknown_fields=True):
    """How the model was given its tools. Older traces have only the first two."""

    kind: StrategyKind
    format: str | None
    guessed: bool = False
    detecting: bool = False
    unproven: bool = False


class RecordedCall(msgspec.Struct, forbid_unknown_fields=True):
    """A delta of a call."""

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str | None = None
    json: bool = False
    custom: bool = False


class Piece(msgspec.Struct, forbid_unknown_fields=True):
    """A delta of a choice."""

    choice: int = 0
    text: str = ""
    reasoning: str = ""
    calls: list[RecordedCall] = []
    finish: str | None = None
    usage: tuple[int, int] | None = None
    extras: list[tuple[str, str]] = []
    gap: bool = False


class RecordedBlock(msgspec.Struct):
    """The fragments of one read."""

    fragments: list[Piece]


class Found(msgspec.Struct):
    """What was wrong with a call."""

    code: str
    tool: str
    message: str


class Sent(msgspec.Struct):
    """What the client was sent for a choice."""

    calls: list[tuple[str, str, str]]
    content: str | None = None


class Failure(msgspec.Struct):
    """An error that a backend caused."""

    code: str | None
    message: str


class RecordedAttempt(msgspec.Struct):
    """One attempt at a backend."""

    backend: str
    strategy: Strategy
    final: bool
    resumed: bool
    heard: list[RecordedBlock]
    spans: dict[str, list[SpanRecord]]
    findings: list[Found]
    repairs: list[str]
    done: bool | None
    error: Failure | None
    sent: dict[str, Sent]


class TraceRecord(msgspec.Struct):
    """A trace with bodies, of a request that reached a backend."""

    request_id: str
    request: Profiled
    plan: Planned
    attempts: list[RecordedAttempt]


def check_shape(record: Any) -> None:
    """Raise `msgspec.ValidationError`, which names the location, if the record is invalid."""
    msgspec.convert(record, TraceRecord)
