"""The additional rules for schemas of strict tools."""

from collections.abc import Collection, Mapping
from typing import Any

from toolwire.protocol.schemas.walk import Context, walk

_FORBIDDEN = (
    "allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else",
    "patternProperties",
)  # fmt: skip


def strict_fault(schema: Mapping[str, Any], *, properties: int, depth: int) -> str | None:
    """Return the first error in a strict tool's schema, as OpenAI words it; None if valid."""
    if "anyOf" in schema:
        return "schema must have type 'object' and not have 'anyOf' at the top level."
    total = 0
    for sub, context, level in walk(schema):
        if (fault := _part_fault(sub)) is not None:
            return f"In context={_shown(context)}, {fault}"
        if level > depth:
            return f"In context={_shown(context)}, nesting exceeds {depth} levels."
        total += len(_properties(sub))
    if total > properties:
        return f"{total} properties in all, more than {properties} allowed."
    return None


def _part_fault(sub: Mapping[str, Any]) -> str | None:
    for keyword in _FORBIDDEN:
        if keyword in sub:
            return f"'{keyword}' is not permitted."
    kinds = sub.get("type")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]) and "properties" not in sub:
        return None
    if sub.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    required = _required(sub)
    missing = next((name for name in _properties(sub) if name not in required), None)
    if missing is not None:
        return (
            "'required' is required to be supplied and to be an array including every key in "
            f"properties. Missing '{missing[:100]}'."
        )
    return None


# Older drafts ignore `$defs`, so it may contain anything.


def _properties(sub: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = sub.get("properties")
    return properties if isinstance(properties, dict) else {}


def _required(sub: Mapping[str, Any]) -> Collection[str]:
    required = sub.get("required")
    names = required if isinstance(required, list) else []
    return {name for name in names if isinstance(name, str)}


def _shown(context: Context) -> str:
    text = str(context)
    return text if len(text) <= 200 else text[:200] + "..."
