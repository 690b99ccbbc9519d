"""The code of the function-calling contract runs as it stands."""

import json
from pathlib import Path
from typing import Any

from tests.scripted import ScriptedServer

from toolwire.client import Client, Toolbox, tool

CODE = (Path(__file__).parent / "contract.py").read_text("utf-8")
SCRIPT = [
    {"calls": [["get_weather", {"city": "Paris", "unit": None}],
               ["get_weather", {"city": "Oslo", "unit": "F"}]]},
    "Sunny in both.",
]  # fmt: skip


def run(client: Client, router: Any) -> dict[str, Any]:
    names: dict[str, Any] = {
        "client": client,
        "messages": [{"role": "user", "content": "Weather in Paris and Oslo?"}],
        "my_router": router,
    }
    exec(compile(CODE, "contract.py", "exec"), names)
    return names


def test_the_contract_runs_as_it_stands(backend: ScriptedServer, client: Client) -> None:
    backend.use("std", SCRIPT)
    names = run(client, lambda name, args: {"name": name, **args})
    assert names["final_text"] == "Sunny in both."
    first, second = (asked.json for asked in backend.requests)
    assert (first["model"], first["tool_choice"], first["temperature"]) == (
        "openai/gpt-4o-mini", "required", 0,
    )  # fmt: skip
    results = [json.loads(m["content"]) for m in second["messages"] if m["role"] == "tool"]
    assert [one["city"] for one in results] == ["Paris", "Oslo"]


def test_a_toolbox_is_the_router_of_the_contract(backend: ScriptedServer, client: Client) -> None:
    @tool
    def get_weather(city: str, unit: str = "C") -> str:
        return f"20 {unit} in {city}"

    backend.use("std", SCRIPT)
    names = run(client, Toolbox(get_weather).call)
    contents = [json.loads(m["content"]) for m in names["messages"] if m["role"] == "tool"]
    assert contents == ["20 C in Paris", "20 F in Oslo"]


def test_the_same_with_streaming_and_accumulated_calls(
    backend: ScriptedServer, client: Client
) -> None:
    backend.use("std", SCRIPT)
    chunks = list(client.chat("Go.", stream=True))
    pieces = [
        call.function.arguments or ""
        for chunk in chunks
        for choice in chunk.choices
        for call in choice.delta.tool_calls or ()
        if call.function and call.index == 0
    ]
    assert json.loads("".join(pieces)) == {"city": "Paris", "unit": None}


def test_a_flat_tool_choice_is_sent_in_openais_form(
    backend: ScriptedServer, client: Client
) -> None:
    backend.use("std", ["ok"])
    client.chat("Go.", tools=[get_time], tool_choice={"type": "function", "name": "get_time"})
    client.chat("Go.", tools=[get_time], tool_choice=get_time)
    client.chat("Go.", tools=[get_time], tool_choice="get_time")
    named = {"type": "function", "function": {"name": "get_time"}}
    assert [asked.json["tool_choice"] for asked in backend.requests] == [named] * 3


@tool
def get_time() -> str:
    """Get the time."""
    return "noon"
