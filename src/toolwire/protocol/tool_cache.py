"""A cache of checked tools, keyed by the bytes of their JSON.

Agents send the same 20 kB of tools with every request, so a known set costs one lookup. Each
surface decodes its own tools.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import jsonschema_rs
import msgspec
from msgspec import Raw

from toolwire.protocol.lru import ByteLru
from toolwire.protocol.schemas.check import (
    PATTERN_BUDGET,
    CheckedSchema,
    SchemaLimits,
    check_schema,
    schema_too_large,
    too_many_refs,
)
from toolwire.protocol.schemas.cost import SchemaCost
from toolwire.protocol.tools import NO_TOOLS, ToolSet, ToolSpec

MAX_NAME = 64
_SAFE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)
_VALIDATOR_WEIGHT = 24
"""A compiled schema takes about twenty times the size of its JSON (measured), plus a margin."""
_PATTERN_WEIGHT = 256
"""Bytes per unit of pattern cost."""
_MOST_REFS = 4000
"""Maximum references in one schema. Compiling a chain of them takes quadratic time."""


def is_safe_name(name: str) -> bool:
    """Whether every backend accepts this tool name."""
    return _SAFE_NAME.fullmatch(name) is not None


def safe_name(name: str) -> str:
    """Return a name that every backend accepts. Deterministic."""
    if is_safe_name(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{_UNSAFE.sub('_', name)[: MAX_NAME - 9]}_{digest}"


class ToolSetDraft(msgspec.Struct):
    """Builds a `ToolSet`. `budget` is the remaining budget for its patterns."""

    tools: dict[str, ToolSpec] = msgspec.field(default_factory=dict)
    validators: dict[str, jsonschema_rs.Validator | None] = msgspec.field(default_factory=dict)
    costs: dict[str, SchemaCost] = msgspec.field(default_factory=dict)
    originals: dict[str, str] = msgspec.field(default_factory=dict)
    repairs: list[str] = msgspec.field(default_factory=list)
    budget: int = PATTERN_BUDGET

    def add(
        self, tool: ToolSpec, checked: CheckedSchema | None = None, *, original: str = ""
    ) -> None:
        """Add a tool. `original` is the client's name for a renamed tool."""
        self.tools[tool.name] = tool
        if original and original != tool.name:
            self.originals[tool.name] = original
        if checked is not None:
            self.validators[tool.name] = checked.validator
            self.costs[tool.name] = checked.cost
            self.repairs.extend(checked.repairs)
            self.budget -= checked.pattern_cost

    def toolset(self) -> ToolSet:
        """Return the finished set."""
        if not self.tools and not self.repairs:
            return NO_TOOLS
        return ToolSet(
            self.tools,
            self.validators,
            self.originals,
            tuple(self.repairs),
            costs=self.costs,
            aliases={original: name for name, original in self.originals.items()},
        )


ToolSetReader: TypeAlias = Callable[[Raw], ToolSetDraft]
"""Decodes a surface's tools. Raises `RequestError` with the location."""


class ToolCache:
    """Caches checked sets and schemas, limited in bytes."""

    def __init__(self, cache_bytes: int, limits: SchemaLimits | None = None) -> None:
        self.limits = limits or SchemaLimits()
        # Keyed by a sample of the bytes: hashing them all costs more than comparing them.
        self._sets: ByteLru[object, tuple[Raw, ToolSet]] = ByteLru(cache_bytes // 2)
        self._schemas: ByteLru[tuple[bytes, bool], CheckedSchema] = ByteLru(cache_bytes // 2)
        self._last: tuple[Raw | None, object, ToolSet] = (None, None, NO_TOOLS)
        """The set that was used last: usually one agent sends several requests in a row."""

    def toolset(self, raw: Raw, kind: object, read: ToolSetReader) -> ToolSet:
        """Return the tools in this JSON, decoded by `read` unless cached. `kind` is part of the
        key, because the same bytes can mean other tools on another surface."""
        last, last_kind, tools = self._last
        if raw is last and kind == last_kind:
            return tools
        view = memoryview(raw)
        size, middle = len(view), len(view) // 2
        sample = bytes(view[:64]), bytes(view[middle : middle + 64]), bytes(view[-64:])
        key = (size, sample, kind)
        known = self._sets.get(key)
        if known is not None and known[0] is raw:
            self._last = (raw, kind, known[1])
            return known[1]
        if known is not None and known[0] == raw:
            return known[1]
        raw = raw.copy()  # do not keep a large body alive for a small part of it
        draft = read(raw)
        checked = draft.toolset()
        spent = PATTERN_BUDGET - draft.budget
        self._sets.put(key, (raw, checked), _weight(size, spent))
        return checked

    def schema(
        self, parameters: dict[str, Any], tool: str, *, strict: bool, budget: int
    ) -> CheckedSchema:
        """Return a tool's checked parameters. Raises `ToolSchemaError`."""
        key = (msgspec.json.encode(parameters), strict)
        known = self._schemas.get(key)
        if known is not None and not known.repairs and known.pattern_cost <= budget:
            return known
        if len(key[0]) > self.limits.size:
            raise schema_too_large(tool, self.limits.size)
        if key[0].count(b'ref":') + key[0].count(b'Ref":') > _MOST_REFS:
            raise too_many_refs(tool, _MOST_REFS)
        checked = check_schema(
            parameters, tool=tool, strict=strict, limits=self.limits, pattern_budget=budget
        )
        self._schemas.put(key, checked, _weight(len(key[0]), checked.pattern_cost))
        return checked


def _weight(size: int, pattern_cost: int) -> int:
    return _VALIDATOR_WEIGHT * size + _PATTERN_WEIGHT * pattern_cost + 2048
