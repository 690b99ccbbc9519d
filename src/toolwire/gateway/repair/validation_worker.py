"""Validates and repairs calls in a separate program, so that no schema can block the gateway.

The cost of validation has no bound that is both low and fair. So potentially costly calls are
validated here, with limits on memory and on the time per call (`limited_worker`). The input is
`CostlyCall`s, and the output is a `CheckedCall` for each.
"""

from typing import Any

import msgspec

from toolwire.backends.limited_worker import answer_lines
from toolwire.gateway.repair.costly import CostlyCall, elsewhere
from toolwire.gateway.repair.rules import EVERY_RULE
from toolwire.protocol.schemas.check import compile_schema
from toolwire.protocol.schemas.cost import estimate
from toolwire.protocol.tools import ToolSet

_MEMORY = 512 << 20


def check(told: Any) -> Any:
    """Validate and repair one call."""
    call = msgspec.convert(told, CostlyCall)
    tool = call.tool
    validator = compile_schema(tool.parameters, tool.name)
    cost = estimate(tool.parameters)
    tools = ToolSet({tool.name: tool}, {tool.name: validator}, costs={tool.name: cost})
    rules = EVERY_RULE.without(set(EVERY_RULE.names).difference(call.rules))
    return msgspec.to_builtins(rules.repair(call.index, tool.name, call.text, tools, elsewhere()))


def _failed(error: Exception) -> Any:
    return {"error": str(error)[:1000] or type(error).__name__}


if __name__ == "__main__":
    answer_lines(check, _failed, memory=_MEMORY)
