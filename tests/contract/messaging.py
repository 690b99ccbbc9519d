"""The whole Messages surface without a socket. Every answer is checked against the types of the
official client, in strict mode."""

import asyncio
import itertools
import json
from typing import Any

import pydantic
from anthropic.types import Message, RawMessageStreamEvent
from tests.contract.chatting import Backend, Client

from toolwire.backends.pool import BackendPool
from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.token_count import TokenCounter
from toolwire.gateway.tool_limits import ToolLimiter, ToolLimits
from toolwire.gateway.turn import TurnService
from toolwire.protocol.schemas.check import SchemaLimits
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.messages.api import MessagesApi
from toolwire.surfaces.messages.reader import MessagesReader, ParsedMessagesRequest
from toolwire.surfaces.messages.token_limits import TokenLimits
from toolwire.surfaces.messages.tools import MessagesToolReader

READER = MessagesReader(
    MessagesToolReader(max_tools=64, cache_bytes=1 << 20, limits=SchemaLimits()), 1000, 100_000
)
HELLO = [{"role": "user", "content": "Hello"}]
TOOL = {
    "name": "get_weather",
    "description": "The weather in a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
_EVENT = pydantic.TypeAdapter[Any](RawMessageStreamEvent)
_MESSAGE = pydantic.TypeAdapter[Any](Message)


def asked(**fields: Any) -> ParsedMessagesRequest:
    """What a body with these fields is read as."""
    body = {"model": "m", "max_tokens": 100, "messages": HELLO, **fields}
    return READER.read(json.dumps({n: v for n, v in body.items() if v is not ...}).encode())


def ignored(read: ParsedMessagesRequest) -> tuple[str, ...]:
    """What is reported as ignored unless the backend speaks this API itself."""
    origin = read.request.origin
    assert origin is not None
    return (*read.request.ignored, *origin.ignored)


def message(
    backend: Backend | None = None,
    *,
    tokens: TokenCounter | None = None,
    headers: dict[bytes, bytes] | None = None,
    **fields: Any,
) -> Client:
    """Send a body with these fields to `/v1/messages`; what the client sees."""
    fields = {"max_tokens": 100, **fields}
    return _sent("answer", backend or Backend(), tokens, fields, headers=headers)


def count(
    *, tokens: TokenCounter | None = None, limits: ToolLimits | None = None, **fields: Any
) -> Client:
    """Send a body with these fields to `/v1/messages/count_tokens`."""
    return _sent("count", Backend(), tokens, fields, limits=limits)


def _sent(
    name: str,
    backend: Backend,
    tokens: TokenCounter | None,
    fields: dict[str, Any],
    *,
    limits: ToolLimits | None = None,
    headers: dict[bytes, bytes] | None = None,
) -> Client:
    body = {"model": "m", "messages": HELLO, **fields}
    raw = json.dumps({n: v for n, v in body.items() if v is not ...}).encode()
    client = Client(HttpRequest("POST", b"/v1/messages?beta=true", headers or {}, raw))
    limiter = ToolLimiter(limits) if limits is not None else None
    asyncio.run(_answer(name, client, backend, tokens, limiter))
    client.asked = backend.opened
    return client


async def _answer(
    name: str,
    client: Client,
    backend: Backend,
    tokens: TokenCounter | None,
    limiter: ToolLimiter | None,
) -> None:
    pool = BackendPool([backend], asyncio.get_running_loop().time)
    numbers = itertools.count()
    turns = TurnService(
        routes=Routes([ServedModel("*", pool, tokens=tokens, tool_limiter=limiter)]),
        limits=TurnLimits(attempts=1),
        repair_history=True,
        new_call_id=lambda: f"toolu_{next(numbers)}",
        now=lambda: 0.0,
    )
    api = MessagesApi(
        READER, turns, lambda prefix: f"{prefix}{next(numbers)}", TokenLimits(lambda: 0.0)
    )
    context = RequestContext("req_1")
    try:
        await getattr(api, name)(client, context)
    except GatewayError as error:
        error.request_id = context.request_id
        client.respond(error.status, *api.error(error))


def events(client: Client) -> list[dict[str, Any]]:
    """The events of a stream, each as the official client reads it."""
    made = []
    for block in client.written.decode().strip().split("\n\n"):
        kind, data = block.removeprefix("event: ").split("\ndata: ", 1)
        event = json.loads(data)
        assert event["type"] == kind
        if kind not in ("ping", "error"):
            _EVENT.validate_json(data, strict=True)
        made.append(event)
    return made


def blocks(client: Client) -> list[dict[str, Any]]:
    """The content of an answer, streamed or whole, put together as clients do."""
    if "event-stream" not in client.headers["content-type"]:
        _MESSAGE.validate_json(client.written, strict=True)
        content: list[dict[str, Any]] = client.json["content"]
        return content
    return _put_together(events(client))


def _put_together(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = []
    open_block = -1
    for event in made:
        if event["type"] == "content_block_start":
            assert open_block < 0
            assert event["index"] == len(content)
            content.append(dict(event["content_block"]))
            open_block = event["index"]
        elif event["type"] == "content_block_delta":
            assert event["index"] == open_block
            _add(content[-1], event["delta"])
        elif event["type"] == "content_block_stop":
            assert event["index"] == open_block
            open_block = -1
            if "json" in content[-1]:
                content[-1]["input"] = json.loads(content[-1].pop("json"))
    assert open_block < 0
    return content


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    fields = {key: value for key, value in delta.items() if key != "type"}
    (name,) = fields
    if name == "citation":
        block.setdefault("citations", []).append(fields[name])
        return
    key = "json" if name == "partial_json" else name
    block[key] = block.get(key, "") + fields[name]


def ending(client: Client) -> dict[str, Any]:
    """The stop reason and the usage of an answer, streamed or whole."""
    if "event-stream" not in client.headers["content-type"]:
        return {key: client.json[key] for key in ("stop_reason", "stop_sequence", "usage")}
    *_, delta, stop = events(client)
    assert stop == {"type": "message_stop"}
    return {**delta["delta"], "usage": delta["usage"]}
