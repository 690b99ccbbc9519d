"""Whatever a backend does wrong, `/v1/responses` answers with a stream that OpenAI's own types
accept and that keeps to the order of events, or with an error in OpenAI's form."""

import json
from collections.abc import Iterator
from typing import Any

import pydantic
import pytest
from openai.types.responses import ResponseStreamEvent
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import WEATHER
from tests.e2e.gateway.test_variants import ARGUMENTS, HANGS
from tests.e2e.gateway.wire import ask
from tests.scripted import VARIANTS, ScriptedServer

EVENT: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(ResponseStreamEvent)
ROUTE = """
[[models]]
name = "{mode}"
mode = "{mode}"
backend = {{ url = "{url}", dialect = "openai" }}
"""
CONFIG = """
[timeouts]
first_token = 2
idle = 2
[retries]
attempts = 1
max_retry_after = 2
backoff = 0.01
"""
MODES = ("native", "hybrid", "prompted")
SLOW = {*HANGS, "hang_end", "huge_line", "split_bytes", "flood", "redirect"}
WHOLE = {"function_call": "arguments", "custom_tool_call": "input"}


def tool(name: str, *properties: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {name: {} for name in properties}}
    return {"type": "function", "name": name, "parameters": schema, "strict": False}


WEATHER_TOOL = tool("get_weather", "city", "days")
TOOLS = [
    tool("now"),
    {"type": "namespace", "name": "sky", "description": "Weather.", "tools": [WEATHER_TOOL]},
    {"type": "custom", "name": "apply_patch", "description": "Edit files."},
]
PATCH = json.dumps({"input": '*** Begin Patch\r\n+"ü" \\ 🌧\n*** End Patch\n'})
CALLS = [["now", "{}"], ["sky__get_weather", WEATHER], ["apply_patch", PATCH]]
SCRIPT: list[Any] = [{"reasoning": "Hm.", "text": "Let me see… 🌧", "calls": CALLS}]


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[Gateway]:
    routes = "".join(ROUTE.format(mode=mode, url=backend.url) for mode in MODES)
    with running(config=CONFIG + routes) as process:
        yield process
        assert "Traceback" not in process.log, process.log


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variant", sorted(set(VARIANTS) - SLOW))
def test_every_stream_is_in_order(
    gateway: Gateway, backend: ScriptedServer, variant: str, mode: str
) -> None:
    script = {"raw": "hermes", "turns": SCRIPT} if mode == "prompted" else SCRIPT
    backend.use(ARGUMENTS.get(variant, variant), script)
    asked = {"model": mode, "input": "Hi", "tools": TOOLS, "stream": True}
    reply = ask(gateway.port, asked, path="/v1/responses")
    if reply.status != 200:
        assert reply.error
        return
    events = [event_of(block) for block in reply.body.decode().strip().split("\n\n")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert len({event["response"]["id"] for event in events if "response" in event}) == 1
    check_items(events)
    check_end(events)


def event_of(block: str) -> Any:
    """An event, which is one of OpenAI's types with all that it needs."""
    name, data = block.split("\n")
    event = json.loads(data.removeprefix("data: "))
    assert name == f"event: {event['type']}"
    checked = event
    if event.get("response", {}).get("error"):  # Codex acts on more codes than the types have
        error = {**event["response"]["error"], "code": "server_error"}
        checked = {**event, "response": {**event["response"], "error": error}}
    EVENT.validate_json(json.dumps(checked), strict=True)
    return event


def check_items(events: list[Any]) -> None:
    """One item is open at a time, and it is in the end what its deltas say."""
    opened: str | None = None
    pieces: list[str] = []
    done: list[Any] = []
    for event in events:
        kind = event["type"].removeprefix("response.")
        if kind == "output_item.added":
            assert opened is None
            assert event["output_index"] == len(done)
            opened, pieces = event["item"]["id"], []
        elif kind == "output_item.done":
            assert (event["item"]["id"], event["output_index"]) == (opened, len(done))
            assert said(event["item"]) == "".join(pieces)
            done.append(event["item"])
            opened = None
        elif "item_id" in event:
            assert event["item_id"] == opened
            pieces.append(event["delta"] if kind.endswith(".delta") else "")
    output = events[-1]["response"]["output"]
    assert output[: len(done)] == done
    assert events[-1]["type"] != "response.completed" or output == done


def said(item: Any) -> str:
    if item["type"] in WHOLE:
        return str(item[WHOLE[item["type"]]])
    return "".join(part["text"] for part in item.get("content") or item.get("summary"))


def check_end(events: list[Any]) -> None:
    last = events[-1]
    assert last["type"] in ("response.completed", "response.incomplete", "response.failed")
    if last["type"] == "response.failed":
        assert events[-2]["type"] == "error"
        assert events[-2]["message"] == last["response"]["error"]["message"]
    else:
        assert last["response"]["usage"]["total_tokens"] > 0
