"""A text and what is found in it, as a file of cases for the conformance kit."""

import re
from typing import Any

import msgspec

from toolwire.formats import extract
from toolwire.inspector.reading import ChosenFormat
from toolwire.protocol.tools import ToolSpec

_NAME = re.compile(r"[^a-z0-9]+")
_NOTE = "saved from the inspector"


def case_file(
    name: str, text: str, tools: tuple[ToolSpec, ...], *, called: str = ""
) -> dict[str, Any]:
    """A file with one case: that this format reads this in the text. Raises `KeyError`."""
    chosen = ChosenFormat.of(name, text, tools).name
    found = extract(chosen, text, tools)
    ids = [call.provider_id for call in found.calls if call.provider_id]
    case: dict[str, Any] = {
        "name": _NAME.sub("_", called.lower()).strip("_")[:80] or "saved",
        "text": text,
        "tools": [_function(tool) for tool in tools],
        "content": found.content,
        "reasoning": found.reasoning,
        "calls": [
            {"name": call.name, "arguments": msgspec.json.decode(call.arguments)}
            for call in found.calls
        ],
        "note": _NOTE,
    }
    if ids and len(ids) == len(found.calls):
        case["ids"] = ids
    return {"format": chosen, "cases": [case]}


def _function(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {key: value for key, value in function.items() if value is not None}
