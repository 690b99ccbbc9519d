"""Reads a file of tools: as in a request, as bare functions, or a whole request."""

from pathlib import Path
from typing import Any

import msgspec

from toolwire.cli.usage_error import Complaint
from toolwire.protocol.tools import Tool

_SHAPE = 'Write [{"type": "function", "function": {"name": ..., "parameters": {...}}}].'


class ToolsWrong(ValueError):
    """A value is not a list of tools."""


def read_tools(path: Path | None) -> tuple[Tool, ...]:
    """The tools of a file; none without one."""
    if path is None:
        return ()
    try:
        return tools_of(msgspec.json.decode(path.read_bytes()))
    except OSError as error:
        raise Complaint(f"cannot read the tools of {path}: {error.strerror or error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Complaint(f"{path} is not JSON: {error}. {_SHAPE}") from None
    except ToolsWrong as error:
        raise Complaint(f"{path}: {error}. {_SHAPE}") from None


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
