"""Schemas that expand: a few lines of JSON that stand for very many checks of one value."""

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

FANS: dict[str, Callable[[Json], Json]] = {
    "anyOf": lambda ref: {"anyOf": [ref, ref]},
    "oneOf": lambda ref: {"oneOf": [ref, ref]},
    "allOf": lambda ref: {"allOf": [ref, ref]},
    "if": lambda ref: {"if": ref, "then": ref, "else": ref},
    "not": lambda ref: {"not": {"not": ref}, "anyOf": [ref]},
    "dependentSchemas": lambda ref: {"dependentSchemas": {"a": ref, "b": ref}},
    "unevaluatedProperties": lambda ref: {"anyOf": [ref, ref], "unevaluatedProperties": False},
    "unevaluatedItems": lambda ref: {"allOf": [ref, ref], "unevaluatedItems": False},
    "properties": lambda ref: {"anyOf": [{"properties": {"c": ref}}, {"properties": {"c": ref}}]},
    "items": lambda ref: {"anyOf": [{"items": ref}, {"contains": ref}]},
}
"""By the keyword that has each level lead to the next one twice."""


def fan(keyword: str, levels: int, leaf: Json | None = None) -> Json:
    """A schema whose property `p` leads to its leaf in 2 ** levels ways."""
    parts = {f"d{n}": FANS[keyword]({"$ref": f"#/$defs/d{n + 1}"}) for n in range(levels)}
    parts[f"d{levels}"] = {"type": "null"} if leaf is None else leaf
    return {"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": parts}


def recursive(ways: int) -> Json:
    """A schema of expressions within expressions, which refers to itself in so many ways."""
    kinds = [
        {
            "type": "object",
            "title": f"operation {n}",
            "properties": {"op": {"type": "string"}, "left": {"$ref": "#/$defs/e"}},
            "required": ["op", "left"],
            "additionalProperties": False,
        }
        for n in range(ways)
    ]
    return {
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/e"}},
        "$defs": {"e": {"anyOf": [*kinds, {"type": "integer"}]}},
    }


def nested(levels: int) -> Any:
    """So many expressions, each in the next; the innermost is none."""
    value: Any = "x"
    for _ in range(levels):
        value = {"op": "+", "left": value}
    return value
