"""Builds one JSON Schema of all tools, for servers that can constrain decoding.

The schema is an object with an array of calls. The format `generic` reads it, and it suits servers
that require an object at the root. `$ref`s within a tool's schema are adjusted to its new place.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from toolwire.protocol.requests import Request
from toolwire.protocol.tools import ToolSpec

CALLS_FORMAT = "generic"
"""The format of text that matches the schema of calls."""

_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}
_OF_A_DOCUMENT = ("$schema", "$id")
_DATA = ("const", "enum", "default", "examples")
"""Keywords whose values are never schemas."""
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose values map names to schemas."""


def calls_schema(tools: Iterable[ToolSpec], *, parallel: bool) -> bytes:
    """Return the JSON Schema of one or more calls; of exactly one if not `parallel`."""
    places: dict[str, Any] = {}
    calls = []
    for tool in tools:
        place = f"tool_{len(places)}"
        places[place] = _moved(tool.parameters or _NO_ARGUMENTS, f"#/$defs/{place}")
        name, arguments = {"const": tool.name}, {"$ref": f"#/$defs/{place}"}
        calls.append(_object({"name": name, "arguments": arguments}))
    array: dict[str, Any] = {"type": "array", "items": _any_of(calls), "minItems": 1}
    if not parallel:
        array["maxItems"] = 1
    return msgspec.json.encode({**_object({"tool_calls": array}), "$defs": places})


def calls_or_response_schema(calls: bytes, response_schema: Mapping[str, Any]) -> bytes:
    """Return the JSON Schema of calls, or of the client's `response_format`."""
    either = msgspec.json.decode(calls)
    places = {**either.pop("$defs"), "form": _moved(response_schema, "#/$defs/form")}
    union = [either, {"$ref": "#/$defs/form"}]
    return msgspec.json.encode({"anyOf": union, "$defs": places})


def response_schema(request: Request) -> Mapping[str, Any] | None:
    """Return the JSON Schema of the client's `response_format`; None for plain text."""
    wanted = request.response_format
    if wanted is None or not wanted.is_json:
        return None
    schema: Mapping[str, Any] = msgspec.json.decode(wanted.json_schema)
    return schema


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _moved(value: Any, place: str) -> Any:
    """Return the schema with its references adjusted to `place` in a larger schema."""
    if isinstance(value, list):
        return [_moved(sub, place) for sub in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: _moved_member(key, sub, place)
        for key, sub in value.items()
        if not (key in _OF_A_DOCUMENT and isinstance(sub, str))
    }


def _moved_member(key: str, value: Any, place: str) -> Any:
    if key == "$ref" and isinstance(value, str) and (value == "#" or value.startswith("#/")):
        return place + value[1:]
    if key in _BY_NAME and isinstance(value, Mapping):
        return {name: _moved(sub, place) for name, sub in value.items()}
    return value if key in _DATA else _moved(value, place)
