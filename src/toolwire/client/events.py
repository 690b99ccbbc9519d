"""The events of a run, for user interfaces and logs.

`TextDelta` and `ReasoningDelta` are those of the parsers: the next piece of what a model says.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from toolwire.client.answer import Completion, Message, Usage
from toolwire.client.running.results import CallResult
from toolwire.protocol.events import ReasoningDelta, TextDelta

LimitName: TypeAlias = Literal["turns", "calls", "tokens"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model requests. `arguments` are decoded but not converted."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deny:
    """Returned by an approval hook to deny a call. The reason is sent to the model."""

    reason: str = "the user did not allow this call"


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A call and its result."""

    call: Call
    result: CallResult


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run. `str(result)` is the text."""

    text: str
    """The model's final text."""
    messages: list[Any] = field(repr=False)
    """The whole conversation: the initial messages, every answer and every tool result."""
    answer: Completion = field(repr=False)
    """The last answer."""
    calls: Sequence[FinishedCall] = ()
    turns: int = 1
    usage: Usage = field(default_factory=Usage)
    """The combined usage of all turns."""
    stopped_by: LimitName | None = None
    """The limit that ended the run, if any."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A request is sent. `last`: the model must answer with text, because a limit is reached."""

    turn: int
    last: bool = False


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The model has answered."""

    turn: int
    answer: Completion

    @property
    def message(self) -> Message:
        """The model's message."""
        return self.answer.message


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool starts to run."""

    call: Call


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call has finished, successfully or not."""

    call: Call
    result: CallResult


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run is over."""

    result: RunResult


Event: TypeAlias = (
    TurnStarted
    | TextDelta
    | ReasoningDelta
    | TurnFinished
    | CallStarted
    | CallFinished
    | RunFinished
)
