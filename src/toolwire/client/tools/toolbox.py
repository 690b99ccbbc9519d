"""A toolbox: tools by name. It groups, renames, filters and calls them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from toolwire.client.errors import DuplicateTool, ToolDefinitionError, UnknownTool
from toolwire.client.tools.tool import Tool, as_tool, checked_name, make_tool

AnyTool = Tool[Any, Any]


@runtime_checkable
class HasTools(Protocol):
    """An object with tools, such as a connection to an MCP server."""

    @property
    def tools(self) -> Iterable[AnyTool]: ...


class Toolbox:
    """Tools by name, in order. Accepts functions, tools, toolboxes and objects with tools."""

    def __init__(self, *items: Any) -> None:
        self._tools: dict[str, AnyTool] = {}
        for item in items:
            self.add(item)

    def add(self, item: Any) -> None:
        """Add a function, a tool, the tools of a toolbox, or the @tool methods of an object."""
        for one in _tools_of(item):
            if one.name in self._tools:
                raise DuplicateTool(
                    f"Two tools are called {one.name!r}. Rename one: tool(function, name=...), "
                    "or Toolbox.prefixed('...')."
                )
            self._tools[one.name] = one

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> AnyTool:
        try:
            return self._tools[name]
        except KeyError:
            known = ", ".join(self._tools) or "none"
            raise UnknownTool(f"there is no tool {name!r}; the tools are: {known}") from None

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self._tools)})"

    @property
    def names(self) -> list[str]:
        """The names of the tools."""
        return list(self._tools)

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The definitions of the tools for a request."""
        return [one.definition for one in self]

    def call(self, name: str, arguments: str | Mapping[str, Any]) -> Any:
        """Call a tool by name: find it, convert the arguments, call the function."""
        return self[name].invoke(arguments)

    def only(self, *names: str) -> "Toolbox":
        """Return a toolbox with only these tools."""
        return Toolbox(*(self[name] for name in names))

    def without(self, *names: str) -> "Toolbox":
        """Return a toolbox without these tools."""
        left_out = {self[name].name for name in names}
        return self.filtered(lambda one: one.name not in left_out)

    def filtered(self, keep: Callable[[AnyTool], bool]) -> "Toolbox":
        """Return a toolbox with the tools for which `keep` is true."""
        return Toolbox(*(one for one in self if keep(one)))

    def renamed(self, names: Mapping[str, str]) -> "Toolbox":
        """Return a toolbox with some tools renamed: `{"old": "new"}`."""
        for name in names:
            _ = self[name]
        return Toolbox(*(_named(one, names.get(one.name, one.name)) for one in self))

    def prefixed(self, prefix: str) -> "Toolbox":
        """Return a toolbox with a prefix added to every name."""
        return Toolbox(*(_named(one, prefix + one.name) for one in self))


def toolbox_of(tools: Any) -> tuple[Toolbox, list[dict[str, Any]]]:
    """Return the runnable tools of a request, and the definitions of those that are plain dicts."""
    if tools is None:
        return Toolbox(), []
    single = isinstance(tools, Mapping) or not isinstance(tools, Iterable)
    items = [tools] if single else tools
    box, plain = Toolbox(), []
    for item in items:
        if isinstance(item, Mapping):
            plain.append(dict(item))
        else:
            box.add(item)
    return box, plain


def _named(one: AnyTool, name: str) -> AnyTool:
    return replace(one, name=checked_name(name))


def _tools_of(item: Any) -> list[AnyTool]:
    if (one := as_tool(item)) is not None:
        return [one]
    if isinstance(item, Toolbox):
        return list(item)
    if isinstance(item, HasTools) and not isinstance(item, type):
        return list(item.tools)
    if callable(item):
        return [make_tool(item)]
    kind = type(item)
    names = [name for name in dir(kind) if as_tool(getattr(kind, name, None)) is not None]
    if not (methods := [one for name in names if (one := as_tool(getattr(item, name)))]):
        raise ToolDefinitionError(
            f"{item!r} is not a function, and has no methods with @tool. Give a typed function."
        )
    return methods
