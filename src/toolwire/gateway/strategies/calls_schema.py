"""The tools as one JSON Schema: what a server that can constrain decoding must let the model write.

The shape is an object with an array of calls, which the format `generic` reads and which servers
take that want an object at the root. Each tool's own `$ref`s are moved along with its schema.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from toolwire.protocol.requests import Request
from toolwire.protocol.tools import Tool

FORMAT = "generic"

_NO_ARGUMENTS = {"type": "object", "properties": {}, "additionalProperties": False}
_OF_A_DOCUMENT = ("$schema", "$id")
_DATA = ("const", "enum", "default", "examples")
"""Keywords whose values are no schemas, whatever they look like."""
_BY_NAME = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords whose values hold schemas under names that are no keywords."""


def calls_schema(tools: Iterable[Tool], *, parallel: bool) -> bytes:
    """The JSON Schema of at least one call of these tools, and at most one if not `parallel`."""
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


def calls_or_response_schema(calls: bytes, form: Mapping[str, Any]) -> bytes:
    """The JSON Schema of such calls, or of the form that the client wants for text."""
    either = msgspec.json.decode(calls)
    places = {**either.pop("$defs"), "form": _moved(form, "#/$defs/form")}
    union = [either, {"$ref": "#/$defs/form"}]
    return msgspec.json.encode({"anyOf": union, "$defs": places})


def response_schema(request: Request) -> Mapping[str, Any] | None:
    """The JSON Schema that text must fit; None if the client wants it as it comes."""
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
    """The same schema, standing at `place` of a larger one."""
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
