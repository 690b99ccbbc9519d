"""A cache of checked tools, by the bytes of their JSON.

Agents send the same 20 kB of tools with every request, so a known set costs one lookup. How a
surface encodes its tools is its own business.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
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
from toolwire.protocol.tools import NO_TOOLS, Tool, ToolSet

MAX_NAME = 64
_SAFE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)
_VALIDATOR_WEIGHT = 24
"""A compiled schema takes about twenty times its JSON (measured); counted with some room."""
_PATTERN_WEIGHT = 256
"""And its patterns this much for each unit of their cost."""
_MOST_REFS = 4000
"""References in one schema. To compile a chain of them takes time by the square of its length."""


def is_safe_name(name: str) -> bool:
    """Whether every backend accepts this tool name."""
    return _SAFE_NAME.fullmatch(name) is not None


def safe_name(name: str) -> str:
    """A name that every backend accepts, always the same for the same name."""
    if is_safe_name(name):
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{_UNSAFE.sub('_', name)[: MAX_NAME - 9]}_{digest}"


@dataclass(slots=True)
class ToolSetDraft:
    """Builds a `ToolSet`. `budget` is what its patterns may still cost."""

    tools: dict[str, Tool] = field(default_factory=dict)
    validators: dict[str, jsonschema_rs.Validator | None] = field(default_factory=dict)
    costs: dict[str, SchemaCost] = field(default_factory=dict)
    originals: dict[str, str] = field(default_factory=dict)
    repairs: list[str] = field(default_factory=list)
    budget: int = PATTERN_BUDGET

    def add(self, tool: Tool, checked: CheckedSchema | None = None, *, original: str = "") -> None:
        """Add a tool. `original` is the client's name of a tool that was renamed."""
        self.tools[tool.name] = tool
        if original and original != tool.name:
            self.originals[tool.name] = original
        if checked is not None:
            self.validators[tool.name] = checked.validator
            self.costs[tool.name] = checked.cost
            self.repairs.extend(checked.repairs)
            self.budget -= checked.pattern_cost

    def toolset(self) -> ToolSet:
        """The set."""
        if not self.tools:
            return NO_TOOLS
        return ToolSet(
            self.tools, self.validators, self.originals, tuple(self.repairs), costs=self.costs
        )


ToolSetReader: TypeAlias = Callable[[Raw], ToolSetDraft]
"""How a surface reads its JSON; raises `RequestError` naming the place."""


class ToolCache:
    """Caches checked sets and schemas, limited in bytes."""

    def __init__(self, cache_bytes: int, limits: SchemaLimits | None = None) -> None:
        self.limits = limits or SchemaLimits()
        # By a sample of the bytes: hashing all of them costs more than comparing them.
        self._sets: ByteLru[object, tuple[Raw, ToolSet]] = ByteLru(cache_bytes // 2)
        self._schemas: ByteLru[tuple[bytes, bool], CheckedSchema] = ByteLru(cache_bytes // 2)

    def toolset(self, raw: Raw, kind: object, read: ToolSetReader) -> ToolSet:
        """The tools in this JSON, read by `read` unless they are known. `kind` says how they are
        read: the same bytes can be other tools on another surface."""
        view = memoryview(raw)
        size, middle = len(view), len(view) // 2
        sample = bytes(view[:64]), bytes(view[middle : middle + 64]), bytes(view[-64:])
        key = (size, sample, kind)
        known = self._sets.get(key)
        if known is not None and known[0] == raw:
            return known[1]
        raw = raw.copy()  # of what may be a small part of a large body
        draft = read(raw)
        checked = draft.toolset()
        spent = PATTERN_BUDGET - draft.budget
        self._sets.put(key, (raw, checked), _weight(size, spent))
        return checked

    def schema(
        self, parameters: dict[str, Any], tool: str, *, strict: bool, budget: int
    ) -> CheckedSchema:
        """The parameters of a tool, checked; raises `ToolSchemaError`."""
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
