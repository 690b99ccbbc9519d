"""Tool sets for the tests of fitting."""

import json
from typing import Any

from msgspec import Raw

from toolwire.protocol.tools import ToolSet
from toolwire.surfaces.openai.tools import ToolReader

READER = ToolReader(max_tools=8, cache_bytes=1 << 20)


def toolset(
    *,
    _name: str = "f",
    _strict: bool = False,
    _required: list[str] | None = None,
    _defs: dict[str, Any] | None = None,
    _closed: bool = False,
    **properties: Any,
) -> ToolSet:
    """One tool `f` with these properties; what begins with `_` is about the tool itself."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if _strict:
        schema |= {"required": list(properties), "additionalProperties": False}
    if _required is not None:
        schema["required"] = _required
    if _defs is not None:
        schema["$defs"] = _defs
    if _closed:
        schema["additionalProperties"] = False
    function = {"name": _name, "parameters": schema, "strict": _strict}
    return READER.read(Raw(json.dumps([{"type": "function", "function": function}]).encode()))
