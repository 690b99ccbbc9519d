"""The request's `tools` array, from JSON to a checked `ToolSet`.

Agents send the same 20 kB of tools with every request, so a set that was seen before is found by
its bytes and costs one lookup. What is forwarded upstream is encoded again from what was checked:
a backend never sees a duplicate key or a schema that we read differently.
"""

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs
import msgspec
from msgspec import Raw

from toolwire.errors import RequestError, ToolSchemaError
from toolwire.protocol.chat import NO_TOOLS, Tool, ToolSet
from toolwire.protocol.explain import decode
from toolwire.protocol.lru import ByteLru
from toolwire.protocol.nesting import check_nesting
from toolwire.protocol.schema import (
    PATTERN_BUDGET,
    CheckedSchema,
    SchemaLimits,
    check_schema,
    schema_too_large,
    too_many_refs,
)
from toolwire.protocol.schema_cost import SchemaCost

MAX_NAME = 64
NAME_PATTERN = "^[a-zA-Z0-9_-]+$"
_SAFE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)
_VALIDATOR_WEIGHT = 24
"""A compiled schema takes about twenty times its JSON (measured); counted with some room."""
_PATTERN_WEIGHT = 256
"""And its patterns this much for each unit of their cost."""
_MOST_REFS = 4000
"""References in one schema. To compile a chain of them takes time by the square of its length."""


class _Function(msgspec.Struct):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class _Custom(msgspec.Struct):
    name: str
    description: str | None = None
    format: dict[str, Any] | None = None


class _FunctionTool(msgspec.Struct, tag_field="type", tag="function"):
    function: _Function


class _CustomTool(msgspec.Struct, tag_field="type", tag="custom"):
    custom: _Custom


_Tools = msgspec.json.Decoder(list[_FunctionTool | _CustomTool])


def safe_name(name: str) -> str:
    """A name every backend takes, the same for the same name always (Cline 2's MCP tools)."""
    if _SAFE_NAME.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{_UNSAFE.sub('_', name)[: MAX_NAME - 9]}_{digest}"


def check_name(name: str, where: str) -> None:
    """Refuse a tool name that OpenAI would refuse, in its words."""
    if _SAFE_NAME.fullmatch(name):
        return
    if len(name) > MAX_NAME:
        raise RequestError(
            f"Invalid '{where}': string too long. Expected a string with maximum length "
            f"{MAX_NAME}, but got a string with length {len(name)} instead.",
            param=where,
            code="string_above_max_length",
        )
    if not name:
        raise RequestError(
            f"Invalid '{where}': empty string. Expected a string with minimum length 1, "
            "but got an empty string instead.",
            param=where,
            code="empty_string",
        )
    raise RequestError(
        f"Invalid '{where}': string does not match pattern. "
        f"Expected a string that matches the pattern '{NAME_PATTERN}'.",
        param=where,
        code="invalid_value",
    )


@dataclass(slots=True)
class _Draft:
    """A set in the making. `budget` is what its patterns may still cost."""

    tools: dict[str, Tool] = field(default_factory=dict)
    validators: dict[str, jsonschema_rs.Validator | None] = field(default_factory=dict)
    costs: dict[str, SchemaCost] = field(default_factory=dict)
    originals: dict[str, str] = field(default_factory=dict)
    repairs: list[str] = field(default_factory=list)
    budget: int = PATTERN_BUDGET

    def name(self, original: str, where: str, *, lenient: bool) -> str:
        """The name of the next tool: checked, its own, and safe for backends."""
        name = safe_name(original) if lenient and original else original
        check_name(name, f"{where}.name")
        if name in self.tools:
            raise RequestError(
                f"Invalid '{where}.name': the name '{name}' is used twice. "
                "Give every tool a name of its own.",
                param=f"{where}.name",
                code="invalid_value",
            )
        if name != original:
            self.originals[name] = original
        return name

    def add(self, tool: Tool, checked: CheckedSchema | None = None) -> None:
        self.tools[tool.name] = tool
        if checked is not None:
            self.validators[tool.name] = checked.validator
            self.costs[tool.name] = checked.cost
            self.repairs.extend(checked.repairs)
            self.budget -= checked.pattern_cost

    def toolset(self) -> ToolSet:
        if not self.tools:
            return NO_TOOLS
        return ToolSet(
            self.tools, self.validators, self.originals, tuple(self.repairs), costs=self.costs
        )


class ToolReader:
    """Reads `tools`; remembers sets and schemas it has checked, bounded in bytes."""

    def __init__(
        self, *, max_tools: int, cache_bytes: int, schema_limits: SchemaLimits | None = None
    ) -> None:
        self._max_tools = max_tools
        self._limits = schema_limits or SchemaLimits()
        # By a sample of the bytes: hashing all of them costs more than comparing them.
        self._sets: ByteLru[object, tuple[Raw, ToolSet]] = ByteLru(cache_bytes // 2)
        self._schemas: ByteLru[tuple[bytes, bool], CheckedSchema] = ByteLru(cache_bytes // 2)

    @property
    def max_depth(self) -> int:
        """How deep the JSON of a request may be nested."""
        return self._limits.depth

    def read(self, raw: Raw, *, lenient_names: bool = False) -> ToolSet:
        """The tools in this JSON array, checked; raises `RequestError` naming the place."""
        view = memoryview(raw)
        size, middle = len(view), len(view) // 2
        sample = bytes(view[:64]), bytes(view[middle : middle + 64]), bytes(view[-64:])
        key = (size, sample, lenient_names)
        known = self._sets.get(key)
        if known is not None and known[0] == raw:
            return known[1]
        raw = raw.copy()  # of what may be a small part of a large body
        draft = self._check(raw, lenient_names=lenient_names)
        checked = draft.toolset()
        spent = PATTERN_BUDGET - draft.budget
        self._sets.put(key, (raw, checked), _weight(size, spent))
        return checked

    def _check(self, raw: Raw, *, lenient_names: bool) -> _Draft:
        wire = decode(_Tools, raw, "tools")
        if len(wire) > self._max_tools:
            raise RequestError(
                f"Invalid 'tools': array too long. Expected an array with maximum length "
                f"{self._max_tools}, but got an array with length {len(wire)} instead.",
                param="tools",
                code="array_above_max_length",
            )
        draft = _Draft()
        for position, item in enumerate(wire):
            if isinstance(item, _FunctionTool):
                spec, where = item.function, f"tools[{position}].function"
                name = draft.name(spec.name, where, lenient=lenient_names)
                checked = self._schema(spec, name, where, draft.budget)
                draft.add(Tool(name, spec.description, checked.schema, bool(spec.strict)), checked)
            else:
                custom, where = item.custom, f"tools[{position}].custom"
                name = draft.name(custom.name, where, lenient=lenient_names)
                format_json = msgspec.json.encode(custom.format)
                check_nesting(format_json, f"{where}.format", self._limits.depth)
                draft.add(Tool(name, custom.description, custom.format or {}, kind="custom"))
        return draft

    def _schema(self, spec: _Function, name: str, where: str, budget: int) -> CheckedSchema:
        strict = bool(spec.strict)
        key = (msgspec.json.encode(spec.parameters or {}), strict)
        known = self._schemas.get(key)
        if known is not None and not known.repairs and known.pattern_cost <= budget:
            return known
        try:
            if len(key[0]) > self._limits.size:
                raise schema_too_large(name, self._limits.size)
            if key[0].count(b'ref":') + key[0].count(b'Ref":') > _MOST_REFS:
                raise too_many_refs(name, _MOST_REFS)
            checked = check_schema(
                spec.parameters or {},
                tool=name,
                strict=strict,
                limits=self._limits,
                pattern_budget=budget,
            )
        except ToolSchemaError as error:
            error.param = f"{where}.parameters"
            raise
        self._schemas.put(key, checked, _weight(len(key[0]), checked.pattern_cost))
        return checked


def _weight(size: int, pattern_cost: int) -> int:
    return _VALIDATOR_WEIGHT * size + _PATTERN_WEIGHT * pattern_cost + 2048
