"""The system message that tells a model which tools it has and how to call them."""

from collections.abc import Sequence
from typing import Any

from toolwire.formats.arguments import values
from toolwire.formats.record import Format
from toolwire.formats.rendering.escape_calls import is_bare, unspell_objects, unspell_strings
from toolwire.formats.rendering.escape_markers import neutralize
from toolwire.protocol.tools import ToolSpec


def instructions_for(record: Format, tools: Sequence[ToolSpec], example: str) -> str:
    """Return one line of instructions, the tools as JSON Schema, and an example call."""
    names = frozenset(tool.name for tool in tools)
    listed = "\n".join(_described(record, tool, names) for tool in tools)
    return (
        "You can call the following tools. Each is described by a JSON object:\n\n"
        f"{listed}\n\n"
        "To call a tool, write exactly this, with the tool's name and its arguments in place of "
        f"NAME, KEY and VALUE:\n\n{example}\n\n"
        "Several calls may follow one another. Write nothing after a call: the results come in "
        "the next message. If no tool is needed, answer in plain text."
    )


def _described(record: Format, tool: ToolSpec, names: frozenset[str]) -> str:
    parameters: Any = dict(tool.parameters)
    if is_bare(record):
        parameters = unspell_objects(parameters, names)
    described = {"name": tool.name, "description": tool.description or ""}
    line = values.to_json({**described, "parameters": parameters})
    return unspell_strings(record, neutralize(record, line), names)
