"""Deltas of an answer as a client sees them in a stream. Constructors check the rules of one delta;
the reconstructor checks the rules between deltas."""

from dataclasses import dataclass, field
from typing import Literal

from toolwire.conformance.faults import InvalidEntity


@dataclass(frozen=True, slots=True)
class DeltaFunctionCall:
    """The name, once, and the next piece of the arguments."""

    name: str | None = None
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class DeltaToolCall:
    """The next piece of call `index`. `id` and `type` come with its first piece only."""

    index: int
    id: str | None = None
    type: Literal["function"] | None = None
    function: DeltaFunctionCall = field(default_factory=DeltaFunctionCall)

    def __post_init__(self) -> None:
        if self.index < 0:
            raise InvalidEntity(f"the index of a call is 0 or more, not {self.index}")


@dataclass(frozen=True, slots=True)
class DeltaMessage:
    """The next piece of an answer: text, reasoning, or pieces of calls."""

    content: str | None = None
    tool_calls: tuple[DeltaToolCall, ...] | None = None
    reasoning: str | None = None

    def __post_init__(self) -> None:
        if self.content is None and self.tool_calls is None and self.reasoning is None:
            raise InvalidEntity("a delta must hold content, reasoning or tool calls")
