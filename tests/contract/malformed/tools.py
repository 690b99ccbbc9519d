"""Tools and choices of tools that cannot be used."""

from collections.abc import Iterator
from typing import Any

from tests.contract.malformed.case import SCHEMA, TYPE, VALUE, BadRequest
from tests.contract.wire import body, tool

NAME = "tools[0].function.name"
PARAMETERS = "tools[0].function.parameters"
CLOSED: dict[str, Any] = {"type": "object", "additionalProperties": False}


def names() -> Iterator[BadRequest]:
    """Names that no tool may have."""
    for char in " .,:;/\\()[]{}<>|'\"`~!@#$%^&*+=?\n\t\0é中😀\u2028":
        for name in (f"a{char}b", char):
            raw = body(tools=[tool(name)])
            yield BadRequest("tool name", f"{name!r}", raw, NAME, VALUE)
    for size in (65, 100, 10_000):
        raw = body(tools=[tool("f" * size)])
        yield BadRequest("tool name", f"{size} letters", raw, NAME, "string_above_max_length")
    yield BadRequest("tool name", "empty", body(tools=[tool("")]), NAME, "empty_string")
    twice = body(tools=[tool("f"), tool("f")])
    yield BadRequest("tool name", "twice", twice, "tools[1].function.name", VALUE)


def _nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


BAD_ROOTS: tuple[Any, ...] = (
    *({"type": kind} for kind in ("string", "array", "null", "integer", "number", "boolean")),
    {"type": "Object"}, {"type": ["object"]}, {"type": None}, {"type": 1}, {"properties": {}},
    {"anyOf": []}, {"$ref": "#/$defs/a"}, {"type": "obj"}, {"type": ""}, {"type": {}},
)  # fmt: skip
BAD_PARTS: tuple[Any, ...] = (
    {"properties": []}, {"properties": None}, {"properties": "x"}, {"properties": {"a": 1}},
    {"properties": {"a": []}}, {"properties": {"a": "string"}}, {"properties": {"a": None}},
    {"required": "a"}, {"required": [1]}, {"required": {}}, {"required": ["a", "a"]},
    {"properties": {"a": {"type": "str"}}}, {"properties": {"a": {"type": "int"}}},
    {"properties": {"a": {"type": 5}}}, {"properties": {"a": {"type": []}}},
    {"properties": {"a": {"enum": "x"}}}, {"properties": {"a": {"enum": {}}}},
    {"properties": {"a": {"anyOf": {}}}}, {"properties": {"a": {"anyOf": []}}},
    {"properties": {"a": {"anyOf": [1]}}}, {"properties": {"a": {"oneOf": "x"}}},
    {"properties": {"a": {"allOf": []}}}, {"properties": {"a": {"not": 1}}},
    {"properties": {"a": {"items": 1}}}, {"properties": {"a": {"items": "string"}}},
    {"properties": {"a": {"minimum": "1"}}}, {"properties": {"a": {"maximum": None}}},
    {"properties": {"a": {"minLength": -1}}}, {"properties": {"a": {"maxLength": "9"}}},
    {"properties": {"a": {"minItems": 1.5}}}, {"properties": {"a": {"maxItems": -5}}},
    {"properties": {"a": {"pattern": 1}}}, {"properties": {"a": {"pattern": "("}}},
    {"properties": {"a": {"pattern": "[z-a]"}}}, {"properties": {"a": {"pattern": "*"}}},
    {"properties": {"a": {"pattern": "a{2,1}"}}}, {"properties": {"a": {"pattern": "\\"}}},
    {"properties": {"a": {"multipleOf": 0}}}, {"properties": {"a": {"multipleOf": -1}}},
    {"properties": {"a": {"uniqueItems": "yes"}}}, {"properties": {"a": {"const": 1, "type": 0}}},
    {"patternProperties": {"(": {}}}, {"patternProperties": []}, {"additionalProperties": 1},
    {"additionalProperties": "no"}, {"minProperties": -1}, {"$defs": []}, {"$defs": {"a": 1}},
    {"properties": {"a": {"$ref": 1}}}, {"dependentRequired": {"a": 1}}, {"propertyNames": 1},
    {"description": 1}, {"title": []}, {"if": 1}, {"prefixItems": {}}, {"contains": 5},
)  # fmt: skip


def schemas() -> Iterator[BadRequest]:
    """Parameters that are no JSON Schema of an object."""
    of_objects = ({"type": "object", **part} for part in BAD_PARTS)
    for number, schema in enumerate((*BAD_ROOTS, *of_objects)):
        raw = body(tools=[tool(parameters=schema)])
        yield BadRequest("tool schema", f"{number}: {schema}", raw, PARAMETERS, SCHEMA)
    for depth in (65, 100, 200):
        raw = body(tools=[tool(parameters=_nested(depth))])
        yield BadRequest("tool schema", f"{depth} levels", raw, PARAMETERS, SCHEMA)


STRICT_FAULTS: dict[str, dict[str, Any]] = {
    "open": {"type": "object", "properties": {}, "required": []},
    "open on purpose": {"type": "object", "properties": {}, "additionalProperties": True},
    "an optional property": {**CLOSED, "properties": {"a": {"type": "string"}}, "required": []},
    "nothing required": {**CLOSED, "properties": {"a": {"type": "string"}}},
    "one of two required": {**CLOSED, "properties": {"a": {}, "b": {}}, "required": ["a"]},
    "open inside": {
        **CLOSED, "properties": {"a": {"type": "object", "properties": {}}}, "required": ["a"],
    },
    "open in a list": {
        **CLOSED,
        "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {}}}},
        "required": ["a"],
    },
    "101 properties": {
        **CLOSED,
        "properties": {f"p{n}": {"type": "string"} for n in range(101)},
        "required": [f"p{n}" for n in range(101)],
    },
    "a dangling reference": {
        **CLOSED, "properties": {"a": {"$ref": "#/$defs/none"}}, "required": ["a"],
    },
}  # fmt: skip


def strict() -> Iterator[BadRequest]:
    """Schemas of strict tools that leave something open."""
    for name, schema in STRICT_FAULTS.items():
        raw = body(tools=[tool(parameters=schema, strict=True)])
        yield BadRequest("strict schema", name, raw, PARAMETERS, SCHEMA)


def choices() -> Iterator[BadRequest]:
    """Choices of tools that are not there, or no choices at all."""
    for word in ("any", "AUTO", "", "f", "function", "None"):
        raw = body(tools=[tool()], tool_choice=word)
        yield BadRequest("tool choice", f"the word {word!r}", raw, "tool_choice", VALUE)
    for value in (5, 1.5, True, [], ["f"]):
        raw = body(tools=[tool()], tool_choice=value)
        yield BadRequest("tool choice", f"{value!r}", raw, "tool_choice", TYPE)
    for name in ("g", "F", "f ", "functions.f", "f" * 200):
        for form in ({"function": {"name": name}}, {"name": name}):
            raw = body(tools=[tool()], tool_choice={"type": "function", **form})
            yield BadRequest("tool choice", f"{form}", raw, "tool_choice")
    for value in ("required", {"type": "function", "function": {"name": "f"}}):
        raw = body(tool_choice=value)
        yield BadRequest("tool choice", f"{value!r} without tools", raw, "tool_choice")
