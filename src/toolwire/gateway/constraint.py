"""The tools as one JSON Schema: what a server that can constrain decoding must let the model write.

The shape is a bare array of calls, which the format `json` reads. Each tool's own `$ref`s are
moved along with its schema.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from toolwire.protocol.chat import Tool

FORMAT = "json"


def calls_schema(tools: Iterable[Tool], *, parallel: bool) -> bytes:
    """The JSON Schema of at least one call of these tools, and at most one if not `parallel`."""
    places: dict[str, Any] = {}
    calls = []
    for tool in tools:
        place = f"tool_{len(places)}"
        places[place] = _moved(tool.parameters, f"#/$defs/{place}")
        calls.append(
            {
                "type": "object",
                "properties": {
                    "name": {"const": tool.name},
                    "arguments": {"$ref": f"#/$defs/{place}"},
                },
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
        )
    schema: dict[str, Any] = {
        "type": "array",
        "items": calls[0] if len(calls) == 1 else {"anyOf": calls},
        "minItems": 1,
        "$defs": places,
    }
    if not parallel:
        schema["maxItems"] = 1
    return msgspec.json.encode(schema)


def _moved(value: Any, place: str) -> Any:
    """The same schema, standing at `place` of a larger one."""
    if isinstance(value, dict):
        return {key: _moved_ref(key, sub, place) for key, sub in value.items() if key != "$schema"}
    if isinstance(value, list):
        return [_moved(sub, place) for sub in value]
    return value


def _moved_ref(key: str, value: Any, place: str) -> Any:
    if key == "$ref" and isinstance(value, str) and value.startswith("#"):
        return place + value[1:]
    return _moved(value, place)
