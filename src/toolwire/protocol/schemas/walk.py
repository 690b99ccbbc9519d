"""Walks every subschema of a JSON Schema. Knows the keywords; validates nothing."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Context: TypeAlias = tuple[str, ...]

_MAPS = (
    "properties", "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies",
)  # fmt: skip
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_SINGLE = (
    "items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains",
    "contentSchema", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_DEEPER = ("properties", "items", "prefixItems")


def walk(schema: Any) -> Iterator[tuple[Mapping[str, Any], Context, int]]:
    """Yield each schema that is an object, its location and its nesting depth."""
    pending: list[tuple[Any, Context, int]] = [(schema, (), 0)]
    while pending:
        sub, where, level = pending.pop()
        if isinstance(sub, dict):
            yield sub, where, level
            for part, place in _subschemas(sub, where):
                # Decide by keyword position: a property may be named `items` too.
                pending.append((part, place, level + (place[len(where)] in _DEEPER)))


def _subschemas(schema: Mapping[str, Any], context: Context) -> Iterator[tuple[Any, Context]]:
    for key in _MAPS:
        if isinstance(group := schema.get(key), dict):
            for name, sub in group.items():
                yield sub, (*context, key, name)
    for key in _LISTS:
        if isinstance(group := schema.get(key), list):
            for position, sub in enumerate(group):
                yield sub, (*context, key, str(position))
    for key in _SINGLE:
        if isinstance(sub := schema.get(key), dict):
            yield sub, (*context, key)
