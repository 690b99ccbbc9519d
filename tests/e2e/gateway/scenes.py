"""The tools a client offers here, and what a model says to them."""

import json
from typing import Any

from tests.e2e.gateway.contract import Outcome


def tool(name: str, **properties: str) -> dict[str, Any]:
    """A tool definition; each property is given by its JSON type."""
    schema = {"type": "object", "properties": {p: {"type": t} for p, t in properties.items()}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [
    tool("now"),
    tool("get_weather", city="string", days="integer"),
    tool("get_weather_map", zoom="number", layer="string"),
]

# Written without a space after a comma, and with one tool's name the beginning of another's.
MAP = '{"zoom":1.5,"layer":"rain\\u2028\\"and\\" {snow}"}'
WEATHER = '{"city":"Zürich \\ud83c\\udf27","days":3}'
CALLS: list[Any] = [
    {"calls": [["now", "{}"], ["get_weather_map", MAP], ["get_weather", WEATHER]]},
]
TEXT_AND_CALL: list[Any] = [
    {"text": "Let me see… 🌧 first.", "calls": [["get_weather", WEATHER]]},
]
TEXT: list[Any] = [{"text": "Grüezi! It rains.\n\n  In Zürich."}]
SCRIPTS = {"calls": CALLS, "text_and_call": TEXT_AND_CALL, "text": TEXT}


def meant(script: list[Any]) -> Outcome:
    """What a client should see of a script."""
    (turn,) = script
    calls = [(name, arguments) for name, arguments in turn.get("calls", ())]
    finish = "tool_calls" if calls else "stop"
    return Outcome(content=turn.get("text", ""), calls=calls, finish=finish)


def values(outcome: Outcome) -> list[tuple[str, Any]]:
    """The calls with their arguments decoded; arguments that are not JSON stay text."""
    return [(name, _value(arguments)) for name, arguments in outcome.calls]


def _value(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
