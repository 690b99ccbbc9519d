"""The whole Responses surface without a socket. Every event and every body that a client sees is
checked against the typed models of OpenAI's own library, strictly."""

import asyncio
import itertools
import json
from typing import Any

from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from tests.contract.chatting import Backend, Client, speaking

from toolwire.backends.pool import BackendPool
from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.strategies.selection import StrategySelector
from toolwire.gateway.turn import TurnService
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.tool_cache import ToolCache
from toolwire.protocol.usage import TokenUsage
from toolwire.sessions.base import Store
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.responses.request.reader import ResponseReader
from toolwire.surfaces.responses.request.tools import ResponseToolReader
from toolwire.surfaces.responses.storage.state import ResponseStore
from toolwire.surfaces.responses.surface import Responses

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
READER = ResponseReader(ResponseToolReader(ToolCache(1 << 20), max_tools=128), max_items=10_000)
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
PATCH = {"type": "custom", "name": "apply_patch", "description": "Edit files."}
END = Fragment(finish="stop", usage=TokenUsage(7, 5))
CALLED = Fragment(finish="tool_calls", usage=TokenUsage(7, 5))


def piece(text: str | None = None, *, name: str | None = None, index: int = 0) -> Fragment:
    """A piece of a call."""
    return Fragment(calls=(CallFragment(index, f"p{index}" if name else None, name, text),))


def call(name: str, arguments: str, index: int = 0) -> Fragment:
    """A whole call."""
    return piece(arguments, name=name, index=index)


def user(text: str) -> dict[str, Any]:
    """What the user says."""
    return {"type": "message", "role": "user", "content": text}


def made(call_id: str, name: str = "get_weather", arguments: str = "{}", **more: Any) -> Any:
    """A call in the history."""
    head = {"type": "function_call", "call_id": call_id, "name": name}
    return {**head, "arguments": arguments, **more}


def result(call_id: str, output: Any) -> dict[str, Any]:
    """The output of a call."""
    return {"type": "function_call_output", "call_id": call_id, "output": output}


class Answer(Client):
    """What a client sees."""

    @property
    def stream(self) -> list[dict[str, Any]]:
        """The events, each checked: its name, its number, and all that its type needs."""
        blocks = self.written.decode().strip().split("\n\n")
        events = []
        for number, block in enumerate(blocks):
            name, data = block.removeprefix("event: ").split("\ndata: ", 1)
            assert not {"\n", "\r"} & set(data), "each would end a line of the event stream"
            event = json.loads(data)
            assert event["type"] == name
            assert event["sequence_number"] == number
            check_event(event)
            events.append(event)
        return events

    @property
    def kinds(self) -> list[str]:
        """The types of the events."""
        return [event["type"].removeprefix("response.") for event in self.stream]

    @property
    def response(self) -> dict[str, Any]:
        """The response in the end."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            return dict(self.stream[-1]["response"])
        Response.model_validate_json(self.written, strict=True)
        return dict(self.json)

    @property
    def output(self) -> list[dict[str, Any]]:
        """Its items."""
        return list(self.response["output"])


def check_event(event: dict[str, Any]) -> None:
    """Check one event. The codes that Codex acts on are more than OpenAI's types have."""
    response = event.get("response")
    if response is not None and response.get("error"):
        error = {**response["error"], "code": "server_error"}
        event = {**event, "response": {**response, "error": error}}
    EVENT.validate_json(json.dumps(event), strict=True)


def ask(
    backend: Backend | None = None,
    *,
    agent: str = "",
    profile: str = "",
    kept: Store | None = None,
    owner: str | None = None,
    endpoint: str = "answer",
    indent: int | None = None,
    reader: ResponseReader = READER,
    **fields: Any,
) -> Answer:
    """Send one request. `indent` writes its JSON over several lines."""
    body = {"model": "m", "input": "hello", **fields}
    headers = {b"user-agent": agent.encode(), b"toolwire-profile": profile.encode()}
    sent = {name: value for name, value in body.items() if value is not ...}
    raw = json.dumps(sent, indent=indent).encode()
    client = Answer(HttpRequest("POST", b"/v1/responses", headers, raw))
    backend = backend or speaking(Fragment(text="Hello."), END)
    asyncio.run(_answer(client, backend, kept, owner, endpoint=endpoint, reader=reader))
    client.asked = backend.opened
    return client


NUMBERS = itertools.count()


def new_id(prefix: str) -> str:
    """An id that nobody else gets."""
    return f"{prefix}{next(NUMBERS):032x}"


async def _answer(
    client: Answer,
    backend: Backend,
    store: Store | None,
    owner: str | None,
    *,
    endpoint: str,
    reader: ResponseReader,
) -> None:
    pool = BackendPool([backend], asyncio.get_running_loop().time)

    turns = TurnService(
        routes=Routes([ServedModel("m", pool, strategies=StrategySelector("native"))]),
        limits=TurnLimits(attempts=1),
        repair_history=True,
        new_call_id=lambda: new_id("call_"),
        now=lambda: 1_700_000_000.9,
    )
    stored = ResponseStore(store, ttl=60, max_bytes=1 << 20)
    surface = Responses(reader, turns, stored, new_id, lambda: 1_700_000_000.9)
    try:
        context = RequestContext("req_1", key_name=owner)
        await getattr(surface, endpoint)(client, context)
    except GatewayError as error:
        client.respond(error.status, *surface.error(error))
