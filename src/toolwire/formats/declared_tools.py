"""What a parser knows about the request's tools: their names, and the types of their arguments."""

from collections.abc import Iterable, Mapping
from typing import Any

from toolwire.formats.schema import NO_SCHEMA, Schema, Types
from toolwire.protocol import names
from toolwire.protocol.tools import Tool

_PREFIXES = ("functions.", "function.", "tools.", "tool.")


class DeclaredTools:
    """The tools of one turn. Empty means that nothing is known, not that nothing may be called."""

    __slots__ = ("_properties", "_spellings", "_tools", "_types")

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._properties: dict[str, Mapping[str, Any]] = {}
        self._spellings: dict[str, list[str]] | None = None
        self._types: dict[tuple[str, str], Types] = {}

    def names(self) -> tuple[str, ...]:
        """The names of all tools."""
        return tuple(self._tools)

    def known(self, name: str) -> bool:
        """Whether this tool was given."""
        return name in self._tools

    def allows(self, name: str) -> bool:
        """Whether `name` can be called, as far as is known: also if only one tool can be meant by
        it, which is for whoever takes the call to say."""
        if not self._tools or name in self._tools:
            return True
        if self._spellings is None:
            self._spellings = names.spellings_of(self._tools)
        return names.resolve(name, self._tools, self._spellings) is not None

    def resolve(self, written: str) -> str:
        """The tool that a model means by `written`: as it is, without a prefix, or not doubled."""
        name = written.strip()
        if name in self._tools:
            return name
        for prefix in _PREFIXES:
            if name.startswith(prefix) and (name[len(prefix) :] in self._tools or not self._tools):
                return name[len(prefix) :]
        half = name[: len(name) // 2]
        if half and name == f"{half}.{half}":
            return half
        return name.removeprefix("functions.")

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
        """The properties a call of this tool must have."""
        return self.arguments(name).required()

    def schema(self, name: str, key: str) -> Schema:
        """The schema of one argument."""
        return self.arguments(name).property(key)

    def types(self, name: str, key: str) -> Types:
        """The JSON types of one argument; empty when unknown, which means text."""
        known = self._types.get((name, key))
        if known is None:
            known = self.schema(name, key).types()
            if key in self.properties(name):  # a model may invent any number of others
                self._types[name, key] = known
        return known

    def fitting(self, keys: Iterable[str]) -> str | None:
        """The only tool whose properties are these: for formats that may forget to name it."""
        given = frozenset(keys)
        fits = [
            tool.name
            for tool in self._tools.values()
            if given <= self.properties(tool.name).keys() and self.required(tool.name) <= given
        ]
        return fits[0] if len(fits) == 1 else None
