"""Tools as callers pass them: `ToolSpec` records, functions of the client, or OpenAI's JSON."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from toolwire.protocol.tools import ToolSpec


class DescribedTool(Protocol):
    """Anything with a name, a description and a JSON Schema, such as a function with `@tool`."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def description(self) -> str | None:
        """What it does."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The schema of its arguments."""
        ...


GivenTool: TypeAlias = ToolSpec | DescribedTool | Mapping[str, Any]


class InvalidTool(ValueError):
    """A value is not a tool. The text says which, and why."""


def as_tools(tools: Iterable[GivenTool]) -> tuple[ToolSpec, ...]:
    """Convert tools to records. Raises `InvalidTool`."""
    given = tuple(tools)
    return tuple(
        tool if type(tool) is ToolSpec else _read(number, tool) for number, tool in enumerate(given)
    )


def tools_of(value: Any) -> tuple[ToolSpec, ...]:
    """Read tools from JSON: a list, or a whole request. Raises `InvalidTool`."""
    if isinstance(value, dict) and "tools" in value:
        value = value["tools"]
    if not isinstance(value, list):
        raise InvalidTool("it is not a list of tools")
    return as_tools(one if isinstance(one, dict) else {} for one in value)


def _read(number: int, value: Any) -> ToolSpec:
    if isinstance(value, ToolSpec):
        return value
    if isinstance(value, Mapping):
        return _from_json(number, value)
    try:
        return ToolSpec(value.name, value.description, value.parameters)
    except AttributeError:
        raise InvalidTool(f"tool {number} is {type(value).__name__}, not a tool") from None


def _from_json(number: int, value: Mapping[str, Any]) -> ToolSpec:
    """Read a Chat Completions tool, or the flat function of the Responses API."""
    function = value.get("function", value)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InvalidTool(f"tool {number} has no name")
    parameters = function.get("parameters") or {}
    if not isinstance(parameters, Mapping):
        raise InvalidTool(f"the parameters of {function['name']} are not a schema (an object)")
    return ToolSpec(function["name"], function.get("description"), parameters)
