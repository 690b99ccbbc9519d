"""Family A: the name and the arguments stand in one JSON value."""

from toolwire.formats.engines.json_calls import JsonCalls
from toolwire.formats.framing import Markers, Reasoning, thinking
from toolwire.formats.record import Format

THINK = thinking()
_ARRAY = JsonCalls(shape="array", wrap=("[", "]"))


def tags(name: str) -> Markers:
    """`<name>` ... `</name>`, with `<think>` for reasoning."""
    return Markers(opens=(f"<{name}>",), ends=(f"</{name}>",), reasoning=THINK)


HERMES = Format(
    name="hermes",
    family="json",
    framing=tags("tool_call"),
    engine=JsonCalls(),
    aliases=("qwen3_json", "qwen", "qwen25", "granite4", "trinity", "minicpmv"),
    models=("hermes-[23]", "qwen2.5", "qwq", "qwen3", "mimo-vl", "smollm3", "granite-4.[01]"),
)
LONGCAT = Format(
    name="longcat",
    family="json",
    framing=tags("longcat_tool_call"),
    engine=JsonCalls(),
    models=("longcat",),
)
