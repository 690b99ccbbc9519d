"""Tool calls as a client sees them without streaming. Constructors check the rules."""

import json
from dataclasses import dataclass
from typing import Any, Literal, Self

from toolwire.conformance.faults import InvalidEntity


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function and its arguments: JSON text, or empty."""

    name: str
    arguments: str

    def __post_init__(self) -> None:
        if not self.name:
            raise InvalidEntity("a call must name its function")
        try:
            self.decoded()
        except ValueError as error:
            raise InvalidEntity(
                f"the arguments of {self.name} are not JSON: {error}: {self.arguments[:80]!r}"
            ) from None

    def decoded(self) -> Any:
        """The decoded arguments. Empty text means no arguments."""
        return json.loads(self.arguments) if self.arguments else {}


@dataclass(frozen=True, slots=True)
class ExtractedToolCall:
    """A complete call."""

    id: str
    function: FunctionCall
    type: Literal["function"] = "function"

    def __post_init__(self) -> None:
        if not self.id:
            raise InvalidEntity(f"the call of {self.function.name} has no id")
        if self.type != "function":
            raise InvalidEntity(f"the type of a call is 'function', not {self.type!r}")

    @classmethod
    def of(cls, name: str, arguments: Any, call_id: str = "call_of_no_matter_which_id") -> Self:
        """Build an expected call from values. Its id does not matter unless given."""
        return cls(call_id, FunctionCall(name, json.dumps(arguments, ensure_ascii=False)))


@dataclass(frozen=True, slots=True)
class ExtractedToolCallInformation:
    """The result of parsing a whole text."""

    tools_called: bool
    tool_calls: tuple[ExtractedToolCall, ...] = ()
    content: str | None = None
    reasoning: str | None = None

    def __post_init__(self) -> None:
        if self.tools_called != bool(self.tool_calls):
            raise InvalidEntity(
                f"tools_called is {self.tools_called}, but there are {len(self.tool_calls)} calls"
            )
