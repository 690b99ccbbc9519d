"""The request's `tools` array, from JSON to a checked `ToolSet`.

Agents send the same 20 kB of tools with every request, so a set that was seen before is found by
its bytes and costs one lookup. What is forwarded upstream is encoded again from what was checked:
a backend never sees a duplicate key or a schema that we read differently.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Literal

import jsonschema_rs
import msgspec

from toolwire.errors import RequestError, ToolSchemaError
from toolwire.protocol.chat import NO_TOOLS, Tool, ToolSet
from toolwire.protocol.explain import decode
from toolwire.protocol.lru import ByteLru
from toolwire.protocol.schema import CheckedSchema, SchemaLimits, check_schema

MAX_NAME = 64
NAME_PATTERN = "^[a-zA-Z0-9_-]+$"
_SAFE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]", re.ASCII)
_VALIDATOR_WEIGHT = 24
"""A compiled schema takes about twenty times its JSON (measured); counted with some room."""


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
    if not _SAFE_NAME.fullmatch(name):
        raise RequestError(
            f"Invalid '{where}': string does not match pattern. "
            f"Expected a string that matches the pattern '{NAME_PATTERN}'.",
            param=where,
            code="invalid_value",
        )


class ToolReader:
    """Reads `tools`; remembers sets and schemas it has checked, bounded in bytes."""

    def __init__(
        self, *, max_tools: int, cache_bytes: int, schema_limits: SchemaLimits | None = None
    ) -> None:
        self._max_tools = max_tools
        self._limits = schema_limits or SchemaLimits()
        # By a sample of the bytes: hashing all of them costs more than comparing them.
        self._sets: ByteLru[object, tuple[bytes, ToolSet]] = ByteLru(cache_bytes // 2)
        self._schemas: ByteLru[tuple[bytes, bool], CheckedSchema] = ByteLru(cache_bytes // 2)

    def read(self, raw: bytes, *, lenient_names: bool = False) -> ToolSet:
        """The tools in this JSON array, checked; raises `RequestError` naming the place."""
        key = (len(raw), raw[:64], raw[len(raw) // 2 :][:64], raw[-64:], lenient_names)
        known = self._sets.get(key)
        if known is not None and known[0] == raw:
            return known[1]
        checked = self._check(raw, lenient_names=lenient_names)
        self._sets.put(key, (raw, checked), _VALIDATOR_WEIGHT * len(raw) + 2048)
        return checked

    def _check(self, raw: bytes, *, lenient_names: bool) -> ToolSet:
        wire = decode(_Tools, raw, "tools")
        if len(wire) > self._max_tools:
            raise RequestError(
                f"Invalid 'tools': array too long. Expected an array with maximum length "
                f"{self._max_tools}, but got an array with length {len(wire)} instead.",
                param="tools",
                code="array_above_max_length",
            )
        if not wire:
            return NO_TOOLS
        tools: dict[str, Tool] = {}
        validators: dict[str, jsonschema_rs.Validator] = {}
        originals: dict[str, str] = {}
        repairs: list[str] = []
        for position, item in enumerate(wire):
            spec = item.function if isinstance(item, _FunctionTool) else item.custom
            kind: Literal["function", "custom"]
            kind = "function" if isinstance(item, _FunctionTool) else "custom"
            where = f"tools[{position}].{kind}"
            name = safe_name(spec.name) if lenient_names and spec.name else spec.name
            check_name(name, f"{where}.name")
            if name in tools:
                raise RequestError(
                    f"Invalid '{where}.name': the name '{name}' is used twice. "
                    "Give every tool a name of its own.",
                    param=f"{where}.name",
                    code="invalid_value",
                )
            if name != spec.name:
                originals[name] = spec.name
            if isinstance(spec, _Custom):
                tools[name] = Tool(name, spec.description, spec.format or {}, kind=kind)
                continue
            strict = bool(spec.strict)
            checked = self._schema(spec.parameters or {}, name, where, strict=strict)
            repairs.extend(checked.repairs)
            validators[name] = checked.validator
            tools[name] = Tool(name, spec.description, checked.schema, strict)
        return ToolSet(tools, validators, originals, tuple(repairs))

    def _schema(
        self, parameters: Mapping[str, Any], tool: str, where: str, *, strict: bool
    ) -> CheckedSchema:
        key = (msgspec.json.encode(parameters), strict)
        known = self._schemas.get(key)
        if known is not None and not known.repairs:
            return known
        try:
            checked = check_schema(parameters, tool=tool, strict=strict, limits=self._limits)
        except ToolSchemaError as error:
            error.param = f"{where}.parameters"
            raise
        self._schemas.put(key, checked, _VALIDATOR_WEIGHT * len(key[0]) + 2048)
        return checked
