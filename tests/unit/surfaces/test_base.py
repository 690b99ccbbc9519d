"""A surface of another's making runs on the same turn: the package does not know it."""

import asyncio
import json
from typing import Any

import pytest
from tests.contract.chatting import Backend, Client, speaking
from tests.unit.surfaces.smallest import SmallestApi

from toolwire.backends.pool import BackendPool
from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.turn import TurnService
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.exchange import HttpRequest

TOOL = {"name": "get_weather", "input_schema": {"type": "object"}}
SPOKEN = [
    Fragment(text="Let me see."),
    Fragment(calls=(CallFragment(0, "x", "get_weather", '{"city":'),)),
    Fragment(calls=(CallFragment(0, None, None, '"Paris"}'),)),
    Fragment(finish="tool_calls"),
    Fragment(usage=TokenUsage(7, 5)),
]
ASKED = [{"role": "user", "content": "What is the weather in Paris?"}]
CALL = {"type": "tool_use", "id": "a", "name": "get_weather", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "a", "content": "rain"}
ANSWERED = [
    *ASKED,
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [RESULT]},
]


def ask(backend: Backend, **fields: Any) -> Client:
    """Send one request through the surface; what the client sees of it."""
    body = {"model": "m", "max_tokens": 9, "messages": ASKED, "tools": [TOOL], **fields}
    client = Client(HttpRequest("POST", b"/smallest", {}, json.dumps(body).encode()))

    async def answer() -> None:
        pool = BackendPool([backend], asyncio.get_running_loop().time)
        turns = TurnService(
            routes=Routes([ServedModel("*", pool)]),
            limits=TurnLimits(attempts=1),
            repair_history=False,
            new_call_id=lambda: "call_1",
            now=lambda: 0.0,
        )
        surface = SmallestApi(turns)
        try:
            await surface.answer(client, RequestContext("req_1"))
        except GatewayError as error:
            client.respond(error.status, *surface.error(error))

    asyncio.run(answer())
    return client


def events(client: Client) -> list[tuple[str, Any]]:
    blocks = client.written.decode().strip().split("\n\n")
    pairs = [block.removeprefix("event: ").split("\ndata: ", 1) for block in blocks]
    return [(kind, json.loads(data)) for kind, data in pairs]


def test_a_call_is_a_block_of_the_whole_answer() -> None:
    answer = ask(speaking(*SPOKEN)).json
    call = {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Paris"}}
    assert answer["content"] == [{"type": "text", "text": "Let me see."}, call]
    assert answer["stop_reason"] == "tool_use"
    assert answer["usage"] == {"input_tokens": 7, "output_tokens": 5}


def test_a_stream_has_the_events_of_its_own_wire() -> None:
    made = events(ask(speaking(*SPOKEN), stream=True))
    kinds = [kind.removeprefix("content_block_") for kind, _ in made]
    text, call = ["start", "delta", "stop"], ["start", "delta", "stop"]
    assert kinds == ["message_start", *text, *call, "message_delta", "message_stop"]
    parts = [data["delta"].get("partial_json", "") for _, data in made if "delta" in data]
    assert json.loads("".join(parts)) == {"city": "Paris"}


def test_the_backend_is_asked_as_any_other_surface_asks_it() -> None:
    backend = speaking(Fragment(text="Rain.", finish="stop"))
    ask(backend, messages=ANSWERED, system="Be brief.")
    (outgoing,) = backend.opened
    roles = [message.role for message in outgoing.messages]
    assert roles == ["system", "user", "assistant", "tool"]
    assert outgoing.request.sampling.max_tokens == 9


@pytest.mark.parametrize("stream", [False, True])
def test_a_broken_history_is_refused_in_the_words_of_its_own_wire(stream: bool) -> None:
    refused = ask(speaking(), messages=ANSWERED[:2] + ASKED, stream=stream)
    assert refused.status == 400
    assert refused.json["error"]["type"] == "invalid_request_error"
    assert refused.json["error"]["message"].startswith("messages.2: ")


def test_an_error_in_a_stream_is_an_event_of_its_own_wire() -> None:
    broken = Backend([[SPOKEN[0]], [SPOKEN[1]]], done=False)
    kind, data = events(ask(broken, stream=True))[-1]
    assert (kind, data["type"], data["error"]["type"]) == ("error", "error", "api_error")
