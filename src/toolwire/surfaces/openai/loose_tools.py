"""Tools from any JSON that has them: as in a request, as bare functions, or a whole request."""

from typing import Any

from toolwire.protocol.tools import Tool


class ToolsWrong(ValueError):
    """A value is not a list of tools."""


def tools_of(value: Any) -> tuple[Tool, ...]:
    """Tools from JSON."""
    if isinstance(value, dict) and "tools" in value:
        value = value["tools"]
    if not isinstance(value, list):
        raise ToolsWrong("it is not a list of tools")
    return tuple(_tool(number, one) for number, one in enumerate(value))


def _tool(number: int, value: Any) -> Tool:
    function = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise ToolsWrong(f"tool {number} has no name")
    parameters = function.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise ToolsWrong(f"the parameters of {function['name']} are not a schema (an object)")
    return Tool(function["name"], function.get("description"), parameters)
