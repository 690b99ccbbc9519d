"""One scenario for a parser: the model's text, and the expected result."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self, TypeAlias

from toolwire.conformance.calls import ExtractedToolCall
from toolwire.conformance.faults import InvalidEntity

Pattern: TypeAlias = Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
PATTERNS: dict[Pattern, str] = {
    1: "no tool calls",
    2: "single tool call",
    3: "parallel tool calls",
    4: "data types",
    5: "no arguments",
    6: "surrounding text and reasoning",
    7: "escapes and special characters",
    8: "malformed input",
    9: "streaming reconstruction",
    10: "streaming boundary splits",
}


class State(StrEnum):
    """The state of a test case."""

    CREATED = "created"
    EXECUTED = "executed"
    PASSED = "passed"
    FAILED = "failed"
    XFAILED = "xfailed"


_NEXT: dict[State, tuple[State, ...]] = {
    State.CREATED: (State.EXECUTED,),
    State.EXECUTED: (State.PASSED, State.FAILED, State.XFAILED),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCase:
    """A scenario in one mode, whole or streamed.

    `tools` are in OpenAI's format. `malformed`: the text violates its format. A live stream may
    send a call's name before that shows, so less is expected of it. `cut`: the text ends inside
    its last call. `live`: the arguments must begin to arrive long before the call ends. `deltas`
    are additional chunks to stream the text in, `splits` positions to split it at.
    `expected_ids` are the ids that the text gives to its calls. Ids that a parser generates have at
    least `shortest_id` characters.
    """

    __test__: ClassVar[bool] = False  # not a pytest test class

    scenario_name: str
    model_output: str
    parser_name: str
    expected_tools_called: bool
    expected_tool_calls: tuple[ExtractedToolCall, ...]
    expected_content: str | None
    streaming_mode: bool
    expected_reasoning: str | None = None
    expected_ids: tuple[str, ...] = ()
    shortest_id: int = 1
    tools: tuple[dict[str, Any], ...] = ()
    pattern: Pattern | None = None
    malformed: bool = False
    cut: bool = False
    live: bool = False
    deltas: tuple[str, ...] = ()
    splits: tuple[int, ...] = ()
    note: str = ""
    state: State = State.CREATED

    def __post_init__(self) -> None:
        if not isinstance(self.model_output, str):
            raise InvalidEntity(f"{self.name}: model_output must be text, if only an empty one")
        if self.expected_tools_called != bool(self.expected_tool_calls):
            raise InvalidEntity(
                f"{self.name}: expected_tools_called is {self.expected_tools_called}, "
                f"but {len(self.expected_tool_calls)} calls are expected"
            )
        if self.deltas and "".join(self.deltas) != self.model_output:
            raise InvalidEntity(f"{self.name}: the deltas do not add up to the text")

    @property
    def name(self) -> str:
        """`hermes/one_call`, with `:stream` if it is streamed."""
        mode = ":stream" if self.streaming_mode else ""
        return f"{self.parser_name}/{self.scenario_name}{mode}"

    def moved_to(self, state: State) -> Self:
        """Return the case in the next state. States cannot be skipped or reversed."""
        if state not in _NEXT.get(self.state, ()):
            raise InvalidEntity(f"{self.name}: a case that is {self.state} cannot become {state}")
        return replace(self, state=state)
