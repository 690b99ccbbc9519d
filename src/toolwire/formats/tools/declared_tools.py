"""The request's tools as a parser knows them: names, and types of arguments."""

from collections.abc import Iterable, Mapping
from typing import Any

from toolwire.formats.arguments.schema import NO_SCHEMA, Schema, Types
from toolwire.protocol import names
from toolwire.protocol.tools import ToolSpec

_PREFIXES = ("functions.", "function.", "tools.", "tool.", "default_api.")


class DeclaredTools:
    """The tools of one turn. Empty means that the tools are unknown, not that there are none."""

    __slots__ = ("_properties", "_spellings", "_tools", "_types")

    def __init__(self, tools: Iterable[ToolSpec] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._properties: dict[str, Mapping[str, Any]] = {}
        self._spellings: dict[str, list[str]] | None = None
        self._types: dict[tuple[str, str], Types] = {}

    def names(self) -> tuple[str, ...]:
        """The names of all tools."""
        return tuple(self._tools)

    def known(self, name: str) -> bool:
        """Whether this tool was declared."""
        return name in self._tools

    def allows(self, name: str) -> bool:
        """Whether `name` may be a call: it is declared, or misspelled but unambiguous. The consumer
        of the call resolves it."""
        if not self._tools or name in self._tools:
            return True
        if self._spellings is None:
            self._spellings = names.spellings_of(self._tools)
        return names.resolve(name, self._tools, self._spellings) is not None

    def resolve(self, written: str) -> str:
        """Return the tool that `written` means: exact, without a prefix, or not doubled."""
        name = written.strip()
        if name in self._tools:
            return name
        if name.startswith(_PREFIXES):
            bare = name.partition(".")[2]
            if bare in self._tools or not self._tools:
                return bare
        half = name[: len(name) // 2]
        if half and name == f"{half}.{half}":
            return half
        return name.removeprefix("functions.")

    def before_key(self, written: str) -> str:
        """Return the tool whose name begins this text, if the rest is one of its properties."""
        text = written.strip()
        fitting = (
            name
            for name in self._tools
            if text.startswith(name) and text[len(name) :].strip() in self.properties(name)
        )
        return max(fitting, key=len, default="")

    def arguments(self, name: str) -> Schema:
        """The schema of a tool's arguments."""
        tool = self._tools.get(name)
        return Schema(tool.parameters, tool.parameters) if tool else NO_SCHEMA

    def properties(self, name: str) -> Mapping[str, Any]:
        """The declared properties of a tool; empty when it is unknown."""
        known = self._properties.get(name)
        if known is None:
            known = self._properties[name] = self.arguments(name).properties()
        return known

    def required(self, name: str) -> frozenset[str]:
        """The required properties of this tool."""
        return self.arguments(name).required()

    def schema(self, name: str, key: str) -> Schema:
        """The schema of one argument."""
        return self.arguments(name).property(key)

    def types(self, name: str, key: str) -> Types:
        """The JSON types of one argument; empty when unknown, which means text."""
        known = self._types.get((name, key))
        if known is None:
            known = self.schema(name, key).types()
            if key in self.properties(name):  # models may invent any number of others
                self._types[name, key] = known
        return known

    def fitting(self, keys: Iterable[str]) -> str | None:
        """Return the only tool with these properties, for models that omit its name."""
        given = frozenset(keys)
        fits = [
            tool.name
            for tool in self._tools.values()
            if given <= self.properties(tool.name).keys() and self.required(tool.name) <= given
        ]
        return fits[0] if len(fits) == 1 else None
