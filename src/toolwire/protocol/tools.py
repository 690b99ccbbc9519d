"""Tools: their definitions, their calls, and which of them the client allows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

import msgspec

from toolwire.protocol.schemas.cost import SchemaCost

ToolMode: TypeAlias = Literal["auto", "none", "required"]


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool that the model may call. `parameters` is its JSON Schema; `{}` means no arguments."""

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)
    strict: bool = False
    kind: Literal["function", "custom"] = "function"
    free_text: str = ""
    """The only parameter of a function that represents a free-text tool."""


class AssistantCall(msgspec.Struct, frozen=True):
    """A call the assistant made. `arguments` is JSON text (or plain text for a custom tool).

    `provider_id` is the id that its backend assigned, if known.
    """

    call_id: str
    name: str
    arguments: str
    kind: Literal["function", "custom"] = "function"
    provider_id: str = ""


class ToolChoice(msgspec.Struct, frozen=True):
    """Which tools the model may call. `allowed` limits them; None means all of them."""

    mode: ToolMode = "auto"
    allowed: frozenset[str] | None = None
    named: bool = False


@dataclass(frozen=True, eq=False)
class ToolSet:
    """The request's tools by name, checked, with their compiled validators.

    A validator is None if its schema is too expensive to compile in the event loop; `costs` are the
    costs of using them. `originals` maps tools that were renamed for backends to the client's
    names, and `repairs` lists other repairs.
    """

    tools: Mapping[str, ToolSpec] = field(default_factory=dict)
    validators: Mapping[str, Any] = field(default_factory=dict)
    originals: Mapping[str, str] = field(default_factory=dict)
    repairs: tuple[str, ...] = ()
    costs: Mapping[str, SchemaCost] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names that a model may call a tool by, such as its name without a namespace."""
    _encoded: dict[str, bytes] = field(default_factory=dict, init=False)

    def encoded(self, api: str, encode: Callable[[ToolSpec], Any]) -> bytes:
        """Return the tools as JSON in the form of one API, encoded once per set."""
        if api not in self._encoded:
            self._encoded[api] = msgspec.json.encode([encode(tool) for tool in self.tools.values()])
        return self._encoded[api]

    @cached_property
    def size(self) -> int:
        """Estimate the size of the tools, in characters of JSON."""
        return sum(
            len(tool.name) + len(tool.description or "") + len(msgspec.json.encode(tool.parameters))
            for tool in self.tools.values()
        )

    @cached_property
    def strict(self) -> bool:
        """Whether any tool is strict."""
        return any(tool.strict for tool in self.tools.values())

    @cached_property
    def first_custom(self) -> int | None:
        """The index of the first custom tool, if any."""
        kinds = enumerate(tool.kind for tool in self.tools.values())
        return next((position for position, kind in kinds if kind == "custom"), None)


NO_TOOLS = ToolSet()
FREE_CHOICE = ToolChoice()
