"""A request -> what is to be done about it. Everything wrong with it is said here, before any
byte goes out."""

from dataclasses import dataclass

from toolwire.backends.base import Outgoing
from toolwire.errors import RequestError
from toolwire.gateway.history import check_history
from toolwire.gateway.policy import Policy
from toolwire.protocol.chat import Request, ToolSet


@dataclass(frozen=True, slots=True)
class Plan:
    """One turn, ready to be run."""

    request: Request
    outgoing: Outgoing
    repairs: tuple[str, ...]

    def policy(self) -> Policy:
        """A fresh policy for one choice."""
        return Policy(self.request.choice, parallel=self.request.parallel)


def make_plan(request: Request, *, repair_history: bool, custom_tools: bool = False) -> Plan:
    """Check what types cannot say, and decide what the backend is sent."""
    history = check_history(request.messages, repair=repair_history)
    tools = _allowed(request)
    if not custom_tools:
        _refuse_custom(tools)
    repairs = (*request.repairs, *history.repairs)
    return Plan(request, Outgoing(request, history.messages, tools), repairs)


def _allowed(request: Request) -> ToolSet:
    """Only the tools that tool_choice allows: not every backend knows `allowed_tools`."""
    allowed = request.choice.allowed
    if allowed is None or request.choice.named:
        return request.tools
    tools = request.tools
    return ToolSet(
        {name: tool for name, tool in tools.tools.items() if name in allowed},
        tools.validators,
        tools.originals,
        tools.repairs,
    )


def _refuse_custom(tools: ToolSet) -> None:
    for position, tool in enumerate(tools.tools.values()):
        if tool.kind == "custom":
            raise RequestError(
                "Unsupported value: custom tools are not supported with this model. "
                "Use a tool of type 'function'.",
                param=f"tools[{position}].type",
                code="unsupported_value",
            )
