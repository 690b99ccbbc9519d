"""What happens in a run, for user interfaces and logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from toolwire.client.answer import Completion, Message, Usage
from toolwire.client.results import CallResult

LimitName: TypeAlias = Literal["turns", "calls", "tokens"]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the model wants made. `arguments` are as it wrote them, decoded."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deny:
    """What an approval hook returns to refuse a call; the model is told the reason."""

    reason: str = "the user did not allow this call"


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A call and its result."""

    call: Call
    result: CallResult


@dataclass(frozen=True, slots=True)
class RunResult:
    """What came of a run. `str(result)` is the text."""

    text: str
    """What the model said at the end."""
    messages: list[Any] = field(repr=False)
    """The whole conversation: what was given, every answer and every result."""
    answer: Completion = field(repr=False)
    """The last answer."""
    calls: Sequence[FinishedCall] = ()
    turns: int = 1
    usage: Usage = field(default_factory=Usage)
    """Tokens of all turns together."""
    stopped_by: LimitName | None = None
    """The limit that made this turn the last, if one did."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The model is asked. `last`: it is asked for text, because a limit is reached."""

    turn: int
    last: bool = False


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the model's text (streaming only)."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """The next piece of the model's reasoning (streaming only)."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The model has answered."""

    turn: int
    answer: Completion

    @property
    def message(self) -> Message:
        """What the model said."""
        return self.answer.message


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A tool begins to run."""

    call: Call


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call has its result, whatever became of it."""

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
