"""Limits the number and size of tools, for models that cannot handle all that an agent offers.

The result depends only on the tools, never on the conversation, so the start of the prompt stays
the same in every turn. Changes are reported with the answer.
"""

from fnmatch import fnmatchcase
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec.structs import replace

from toolwire.errors import Place, RequestError
from toolwire.protocol.requests import Request
from toolwire.protocol.schemas.walk import walk
from toolwire.protocol.tools import ToolChoice, ToolSet, ToolSpec

_SHOWN = 20
_ENDS = ("\n\n", ".\n", ". ", "! ", "? ")
_CUT = "…"


class ToolLimits(msgspec.Struct, frozen=True):
    """The tools that a model is offered, and the length limit of their descriptions."""

    allowed: tuple[str, ...] | None = None
    """Name patterns; None allows every tool."""
    denied: tuple[str, ...] = ()
    """Name patterns; they take precedence over `allowed`."""
    description_chars: int | None = None
    parameter_description_chars: int | None = None

    def allows(self, *names: str) -> bool:
        """Whether a tool with these names is offered."""
        if any(fnmatchcase(name, pattern) for pattern in self.denied for name in names):
            return False
        return self.allowed is None or any(
            fnmatchcase(name, pattern) for pattern in self.allowed for name in names
        )

    def shorten(self, tool: ToolSpec) -> ToolSpec:
        """Return the tool, or a copy with shorter descriptions."""
        description = shortened(tool.description, self.description_chars)
        parameters = tool.parameters
        if tool.kind == "function" and self.parameter_description_chars is not None:
            parameters = _shorter_schema(parameters, self.parameter_description_chars)
        if description == tool.description and parameters is tool.parameters:
            return tool
        return replace(tool, description=description, parameters=parameters)


class _Limited(msgspec.Struct, frozen=True):
    tools: ToolSet
    repairs: tuple[str, ...]


class ToolLimiter(msgspec.Struct, frozen=True):
    """Applies the limits of one route. Results are cached per tool set."""

    limits: ToolLimits
    _known: "WeakKeyDictionary[ToolSet, _Limited]" = msgspec.field(
        default_factory=WeakKeyDictionary
    )

    def apply(self, request: Request) -> Request:
        """Return the request with the remaining tools. Raises `RequestError` if `tool_choice` names
        a removed one."""
        limited = self._limited(request.tools)
        if not limited.repairs:
            return request
        return replace(
            request,
            tools=limited.tools,
            choice=_left_of(request.choice, limited.tools),
            repairs=(*request.repairs, *limited.repairs),
            adjusted=(*request.adjusted, "tools"),
        )

    def tools(self, given: ToolSet) -> ToolSet:
        """Return the remaining tools."""
        return self._limited(given).tools

    def _limited(self, given: ToolSet) -> _Limited:
        known = self._known.get(given)
        if known is None:
            known = self._known[given] = self._limit(given)
        return known

    def _limit(self, given: ToolSet) -> _Limited:
        limits, originals = self.limits, given.originals
        left = {
            name: limits.shorten(tool)
            for name, tool in given.tools.items()
            if limits.allows(name, originals.get(name, name))
        }
        dropped = [f"tool_dropped:{originals.get(n, n)}" for n in given.tools if n not in left]
        cut = sum(tool is not given.tools[name] for name, tool in left.items())
        repairs = (*dropped, *((f"tool_descriptions_cut:{cut}",) if cut else ()))
        tools = ToolSet(
            left, given.validators, originals, given.repairs, given.costs, given.aliases
        )
        return _Limited(tools, repairs)


def shortened(text: str | None, most: int | None) -> str | None:
    """Cut a text to `most` characters, at the end of a sentence or of a word."""
    if text is None or most is None or len(text) <= most:
        return text
    head = text[: most + 1]  # the space after the last sentence may exceed the limit by one
    end = max(head.rfind(mark) + (mark != "\n\n") for mark in _ENDS)
    if end >= max(most // 2, 1):
        return head[:end].rstrip()
    start, _, last = head[: max(most - 1, 0)].rpartition(" ")
    return ((start or last).rstrip() + _CUT)[:most] or None


def _shorter_schema(schema: Any, most: int) -> Any:
    """Return the schema, or a copy in which no description is longer than `most`."""
    long = [sub for sub, _, _ in walk(schema) if _is_long(sub.get("description"), most)]
    if not long:
        return schema
    copy = msgspec.json.decode(msgspec.json.encode(schema))
    for sub, _, _ in walk(copy):
        if isinstance(sub, dict) and _is_long(sub.get("description"), most):
            sub["description"] = shortened(sub["description"], most)
            if sub["description"] is None:
                del sub["description"]
    return copy


def _is_long(description: object, most: int) -> bool:
    return isinstance(description, str) and len(description) > most


def _left_of(choice: ToolChoice, tools: ToolSet) -> ToolChoice:
    """Restrict the choice to the remaining tools."""
    if choice.allowed is None:
        if choice.mode == "required" and not tools.tools:
            raise _left_out("There is no tool to call", tools)
        return choice
    left = choice.allowed & tools.tools.keys()
    if not left and choice.mode == "required":
        names = ", ".join(f"'{name}'" for name in sorted(choice.allowed)[:_SHOWN])
        raise _left_out(f"Tool choice {names} is not available", tools)
    return replace(choice, allowed=left)


def _left_out(what: str, tools: ToolSet) -> RequestError:
    offered = ", ".join(f"'{name}'" for name in list(tools.tools)[:_SHOWN]) or "none"
    return RequestError(
        f"{what} with this model: this server leaves tools out for it ('tools_allowed' and "
        f"'tools_denied' of its route). Of the tools in the request, these are left: {offered}.",
        place=Place("tool_choice"),
        code="unsupported_value",
    )
