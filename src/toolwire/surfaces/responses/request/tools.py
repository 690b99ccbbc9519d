"""Converts function, custom, namespace and built-in tools to a checked `ToolSet`.

Tools come from `tools`, and from items of the conversation that add more. A tool in a namespace
gets one flat name. A table maps flat names back to the client's tools; they are never guessed from
text.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.errors import ToolSchemaError
from toolwire.protocol.schemas.check import CheckedSchema
from toolwire.protocol.tool_cache import (
    MAX_NAME,
    ToolCache,
    ToolSetDraft,
    ToolSetReader,
    safe_name,
)
from toolwire.protocol.tools import ToolSet, ToolSpec
from toolwire.surfaces.explain import (
    check_length,
    check_nesting,
    decode,
    json_kind,
    missing,
    wrong_type,
)
from toolwire.surfaces.responses.kinds import INPUT, KINDS, ToolKind, WireTool

DEFAULT_NAMESPACE = "functions"
"""Tools in this namespace keep their bare names: Codex uses it for the top level."""
_UNUSED = ("output_schema", "allowed_callers", "async")
_BUILT_IN: tuple[ToolKind, ...] = ("local_shell", "shell", "apply_patch")
TOOLS: dict[str, tuple[str, str]] = {
    "function": ("translated", "`strict` only if it is true; `defer_loading` changes nothing"),
    "custom": ("translated", "a function with one string, `input`; the grammar joins its text"),
    "namespace": ("translated", "`NAMESPACE__NAME`; calls come back with both apart"),
    "tool_search": ("translated", "with `execution: client`: a function; its tools join later"),
    "local_shell, shell, apply_patch": ("translated", "functions with schemas of Toolwire's"),
    "others": ("ignored", "what the provider runs: `web_search`, `image_generation`, `mcp`, ..."),
}
"""How tools are handled, for the documentation."""
_decode_tools = msgspec.json.Decoder(list[dict[str, Any]])
_EXAMPLE = """
Example of a complete input:
*** Begin Patch
*** Update File: notes.txt
@@
-old line
+new line
*** Add File: new.txt
+first line
*** End Patch"""


@dataclass(frozen=True, eq=False)
class OfferedTools(ToolSet):
    """The tools by the model's names, and the client's name for each."""

    wire: Mapping[str, WireTool] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()

    def offered_name(self, tool: WireTool) -> str:
        """Return the model's name for a client's tool, even if it is no longer offered."""
        if self.wire.get(tool.name) == tool:
            return tool.name
        name = flat_name(tool)
        if self.wire.get(name) == tool:
            return name
        other = _told_apart(tool)
        return other if other in self.wire else name

    def named(self, name: str, namespace: str = "") -> str | None:
        """Return the model's name for a tool of any kind."""
        for offered, tool in self.wire.items():
            if tool.name == name and (not namespace or tool.namespace == namespace):
                return offered
        return None


NO_OFFER = OfferedTools()


def flat_name(tool: WireTool) -> str:
    """Join namespace and name into a name that every backend accepts."""
    if not tool.namespace or tool.namespace == DEFAULT_NAMESPACE:
        return safe_name(tool.name)
    return safe_name(f"{tool.namespace}__{tool.name}")


def _told_apart(tool: WireTool) -> str:
    """Return a distinct name for a tool whose flat name is already used."""
    digest = hashlib.sha256(f"{tool.namespace}\0{tool.name}\0{tool.kind}".encode()).hexdigest()[:8]
    return f"{flat_name(tool)[: MAX_NAME - 9]}_{digest}"


class _Draft(ToolSetDraft):
    """Builds `OfferedTools`."""

    wire: dict[str, WireTool] = msgspec.field(default_factory=dict)
    ignored: list[str] = msgspec.field(default_factory=list)

    def name_for(self, tool: WireTool) -> str:
        """Return the name of the next tool. An existing tool is replaced."""
        name = flat_name(tool)
        if self.wire.get(name, tool) != tool:
            name = _told_apart(tool)
        if name in self.wire:
            self.repairs.append(f"tool_repeated:{name}")
        self.wire[name] = tool
        return name

    def toolset(self) -> OfferedTools:
        """See `ToolSetDraft.toolset`."""
        return OfferedTools(
            self.tools,
            self.validators,
            repairs=tuple(self.repairs),
            costs=self.costs,
            aliases=_aliases(self.wire),
            wire=self.wire,
            ignored=tuple(self.ignored),
        )


def _aliases(wire: Mapping[str, WireTool]) -> dict[str, str]:
    """Return the unambiguous bare names of tools in namespaces."""
    bare = Counter(tool.name for tool in wire.values())
    return {
        tool.name: name
        for name, tool in wire.items()
        if bare[tool.name] == 1 and tool.name not in wire
    }


class ResponseToolReader:
    """Reads lists of tools, with a cache."""

    def __init__(self, cache: ToolCache, max_tools: int) -> None:
        self._cache = cache
        self._max_tools = max_tools

    @property
    def max_depth(self) -> int:
        """Maximum nesting of the JSON."""
        return self._cache.limits.depth

    def read(self, tools: Raw | None, more: Mapping[str, Raw]) -> OfferedTools:
        """Decode and check the JSON array of tools, and arrays elsewhere by their location. Raises
        `RequestError`."""
        if tools is not None and not more:
            return self._cached(tools, ("responses",), self._read_tools)
        lists = {**({} if tools is None else {"tools": tools}), **more}
        if not lists:
            return NO_OFFER
        raw = Raw(b"\n".join(map(bytes, lists.values())))
        return self._cached(raw, ("responses", *lists), lambda _: self._check(lists))

    def _cached(self, raw: Raw, kind: object, read: ToolSetReader) -> OfferedTools:
        known = self._cache.toolset(raw, kind, read)
        return known if isinstance(known, OfferedTools) else NO_OFFER

    def _read_tools(self, raw: Raw) -> ToolSetDraft:
        return self._check({"tools": raw})

    def _check(self, lists: Mapping[str, Raw]) -> _Draft:
        draft = _Draft()
        for where, raw in lists.items():
            check_nesting(bytes(raw), where, self.max_depth)
            specs = decode(_decode_tools, raw, where)
            self._read(draft, specs, where)
        check_length("tools", len(draft.tools), self._max_tools)
        return draft

    def _read(
        self, draft: _Draft, specs: Iterable[dict[str, Any]], root: str, namespace: str = ""
    ) -> None:
        for position, spec in enumerate(specs):
            where, kind = f"{root}[{position}]", spec.get("type", "function")
            if kind == "namespace" and not namespace:
                self._namespace(draft, spec, where)
            elif kind == "function":
                self._function(draft, spec, where, namespace)
            elif kind == "custom":
                self._custom(draft, spec, where, namespace)
            elif (kind == "tool_search" and spec.get("execution") == "client") or (
                kind in _BUILT_IN and not _runs_elsewhere(spec)
            ):
                self._built_in(draft, spec, kind, where)
            else:
                draft.ignored.append(f"{where}:{kind}")

    def _namespace(self, draft: _Draft, spec: dict[str, Any], where: str) -> None:
        name, members = _text(spec, "name", where), spec.get("tools")
        if not name:
            raise missing(f"{where}.name")
        if members is None:
            raise missing(f"{where}.tools")
        if not isinstance(members, list):
            raise wrong_type(f"{where}.tools", "array", json_kind(members))
        for at, member in enumerate(members):
            if not isinstance(member, dict):
                raise wrong_type(f"{where}.tools[{at}]", "object", json_kind(member))
        about = _text(spec, "description", where)
        told = [_described(member, about) for member in members] if about else members
        self._read(draft, told, f"{where}.tools", name)

    def _function(self, draft: _Draft, spec: dict[str, Any], where: str, namespace: str) -> None:
        strict = spec.get("strict")
        if not isinstance(strict, bool | None):
            raise wrong_type(f"{where}.strict", "bool", json_kind(strict))
        parameters = spec.get("parameters")
        if not isinstance(parameters, dict | None):
            raise wrong_type(f"{where}.parameters", "object", json_kind(parameters))
        name = self._name(draft, spec, "function", where, namespace)
        checked = self._schema(draft, parameters or {}, name, where, strict=bool(strict))
        about = _text(spec, "description", where)
        draft.add(ToolSpec(name, about, checked.schema, bool(strict)), checked)
        draft.ignored += [f"{where}.{unused}" for unused in _UNUSED if spec.get(unused)]

    def _custom(self, draft: _Draft, spec: dict[str, Any], where: str, namespace: str) -> None:
        """Read a tool that takes free text. It becomes a function with one string parameter, which
        most backends support."""
        name = self._name(draft, spec, "custom", where, namespace)
        about, text = _text(spec, "description", where) or "", f"The whole {INPUT}, as plain text."
        schema = {
            "type": "object",
            "properties": {INPUT: {"type": "string", "description": text}},
            "required": [INPUT],
            "additionalProperties": False,
        }
        checked = self._schema(draft, schema, name, where, strict=False)
        tool = ToolSpec(name, about + _grammar(spec, name), checked.schema, free_text=INPUT)
        draft.add(tool, checked)

    def _built_in(self, draft: _Draft, spec: dict[str, Any], kind: ToolKind, where: str) -> None:
        known = KINDS[kind]
        name = draft.name_for(WireTool(kind, known.name))
        schema = spec.get("parameters")
        parameters = schema if isinstance(schema, dict) else dict(known.parameters)
        checked = self._schema(draft, parameters, name, where, strict=False)
        about = _text(spec, "description", where) or known.description
        draft.add(ToolSpec(name, about, checked.schema), checked)

    def _name(
        self, draft: _Draft, spec: dict[str, Any], kind: ToolKind, where: str, namespace: str
    ) -> str:
        name = _text(spec, "name", where)
        if not name:
            raise missing(f"{where}.name")
        return draft.name_for(WireTool(kind, name, namespace))

    def _schema(
        self, draft: _Draft, parameters: dict[str, Any], name: str, where: str, *, strict: bool
    ) -> CheckedSchema:
        try:
            return self._cache.schema(parameters, name, strict=strict, budget=draft.budget)
        except ToolSchemaError as error:
            error.param = f"{where}.parameters"
            raise


def _text(spec: Mapping[str, Any], name: str, where: str) -> str | None:
    value = spec.get(name)
    if isinstance(value, str | None):
        return value
    raise wrong_type(f"{where}.{name}", "str", json_kind(value))


def _described(member: dict[str, Any], about: str) -> dict[str, Any]:
    """Prefix a tool's description with that of its namespace."""
    own = member.get("description")
    return {**member, "description": f"{about}\n{own}" if isinstance(own, str) and own else about}


def _runs_elsewhere(spec: Mapping[str, Any]) -> bool:
    """Whether a shell runs in the provider's container."""
    environment = spec.get("environment")
    return isinstance(environment, dict) and environment.get("type") not in (None, "local")


def _grammar(spec: Mapping[str, Any], name: str) -> str:
    """Describe the input format of a custom tool."""
    grammar = spec.get("format")
    definition = grammar.get("definition") if isinstance(grammar, dict) else None
    if not isinstance(grammar, dict) or not isinstance(definition, str):
        return ""
    syntax = {"lark": "Lark grammar", "regex": "regular expression"}.get(
        str(grammar.get("syntax")), "grammar"
    )
    example = _EXAMPLE if name == "apply_patch" else ""
    return f"\n\nThe {INPUT} must match this {syntax}:\n{definition}{example}"
