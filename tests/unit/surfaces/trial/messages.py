"""`POST /v1/messages`: text, tools and results, streamed and whole."""

import json
from typing import Any

import msgspec

from toolwire.errors import GatewayError, Place, RequestError
from toolwire.gateway.collect import Collector
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TextDelta, TurnEnd
from toolwire.protocol.requests import Message, Request
from toolwire.protocol.sampling import SamplingParams
from toolwire.protocol.tool_cache import ToolCache, ToolSetDraft
from toolwire.protocol.tools import Tool, ToolCall
from toolwire.protocol.usage import Usage
from toolwire.surfaces.exchange import Exchange, Headers, HttpRequest

_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
_TYPES = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}


class _Body(msgspec.Struct):
    model: str
    max_tokens: int
    messages: list[dict[str, Any]]
    system: str | None = None
    stream: bool = False
    tools: list[dict[str, Any]] = []


class TrialMessages:
    """The surface."""

    name = "anthropic_messages"

    def __init__(self) -> None:
        self._cache = ToolCache(cache_bytes=1 << 20)

    def read(self, http: HttpRequest, context: RequestContext) -> Request:
        try:
            body = msgspec.json.decode(http.body, type=_Body)
        except msgspec.MsgspecError as error:
            raise RequestError(str(error)) from None
        messages = [Message("system", body.system)] if body.system else []
        for message in body.messages:
            messages += _messages(message)
        tools = ToolSetDraft()
        for spec in body.tools:
            name, schema = spec["name"], spec["input_schema"]
            checked = self._cache.schema(schema, name, strict=False, budget=tools.budget)
            tools.add(Tool(name, spec.get("description"), checked.schema), checked)
        return Request(
            body.model,
            tuple(messages),
            tools.toolset(),
            stream=body.stream,
            include_usage=True,
            sampling=SamplingParams(max_tokens=body.max_tokens),
        )

    def sink(self, exchange: Exchange, context: RequestContext, plan: Plan) -> "_Sink":
        return (_Stream if plan.request.stream else _Sink)(exchange, context, plan)

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        place = f"{_path(error.place)}: " if error.place is not None else ""
        kind = _TYPES.get(error.status, "api_error")
        body = {"type": "error", "error": {"type": kind, "message": place + error.message}}
        return [("content-type", "application/json")], json.dumps(body).encode()


def _path(place: Place) -> str:
    return f"messages.{place.message}" if place.message is not None else place.field


def _messages(message: dict[str, Any]) -> list[Message]:
    content = message["content"]
    if isinstance(content, str):
        return [Message(message["role"], content)]
    text = "".join(block["text"] for block in content if block["type"] == "text")
    calls = tuple(
        ToolCall(block["id"], block["name"], json.dumps(block["input"]))
        for block in content
        if block["type"] == "tool_use"
    )
    results = [
        Message("tool", block["content"], call_id=block["tool_use_id"])
        for block in content
        if block["type"] == "tool_result"
    ]
    said = [Message(message["role"], text or None, calls)] if text or calls else []
    return [*results, *said]


class _Sink:
    committed = False

    def __init__(self, exchange: Exchange, context: RequestContext, plan: Plan) -> None:
        self._exchange, self._context, self._plan = exchange, context, plan
        self._collector = Collector()

    def begin(self, begun: Begun) -> None:
        self._collector = Collector()

    def send(self, choice: int, events: list[Event]) -> None:
        self._collector.feed(events)

    def flush(self) -> None: ...

    def keepalive(self) -> None: ...

    def done(self, report: Report) -> Usage:
        usage, whole = report.usage or Usage(0, 0), self._collector.whole()
        content: list[dict[str, Any]] = []
        if whole.content:
            content.append({"type": "text", "text": whole.content})
        for call in whole.calls:
            block = {"id": call.call_id, "name": call.name, "input": json.loads(call.arguments)}
            content.append({"type": "tool_use", **block})
        body = {**self._head(usage), "content": content, "stop_reason": _REASONS[whole.reason]}
        headers = [*self._context.headers(), ("content-type", "application/json")]
        self._exchange.respond(200, headers, json.dumps(body).encode())
        return usage

    def fail(self, error: GatewayError) -> None:
        headers, body = TrialMessages().error(error)
        self._exchange.respond(error.status, [*self._context.headers(), *headers], body)

    def _head(self, usage: Usage) -> dict[str, Any]:
        tokens = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
        model, id_ = self._plan.request.model, f"msg_{self._context.request_id}"
        return {"id": id_, "type": "message", "role": "assistant", "model": model, "usage": tokens}


class _Stream(_Sink):
    def __init__(self, exchange: Exchange, context: RequestContext, plan: Plan) -> None:
        super().__init__(exchange, context, plan)
        self._block = -1
        self._open = ""
        self._out: list[bytes] = []
        self._reason = "end_turn"

    def send(self, choice: int, events: list[Event]) -> None:
        self.committed = True
        for event in events:
            match event:
                case TextDelta(text):
                    if self._open != "text":
                        self._start("text", {"type": "text", "text": ""})
                    self._delta({"type": "text_delta", "text": text})
                case CallStart(_, name, call_id):
                    block = {"type": "tool_use", "id": call_id, "name": name, "input": {}}
                    self._start("tool_use", block)
                case ArgsDelta(_, part):
                    self._delta({"type": "input_json_delta", "partial_json": part})
                case CallEnd():
                    self._stop()
                case TurnEnd(reason):
                    self._reason = _REASONS[reason]
                case _:
                    pass

    def _start(self, kind: str, block: dict[str, Any]) -> None:
        self._stop()
        self._open, self._block = kind, self._block + 1
        self._event("content_block_start", index=self._block, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> None:
        self._event("content_block_delta", index=self._block, delta=delta)

    def _stop(self) -> None:
        if self._open:
            self._open = ""
            self._event("content_block_stop", index=self._block)

    def _event(self, kind: str, **fields: Any) -> None:
        data = json.dumps({"type": kind, **fields}).encode()
        self._out.append(b"event: %b\ndata: %b\n\n" % (kind.encode(), data))

    def flush(self) -> None:
        if not self._exchange.started:
            headers = [*self._context.headers(), ("content-type", "text/event-stream")]
            self._exchange.start(200, headers)
            message = {**self._head(Usage(0, 0)), "content": []}
            data = json.dumps({"type": "message_start", "message": message}).encode()
            self._out.insert(0, b"event: message_start\ndata: " + data + b"\n\n")
        self._exchange.write(b"".join(self._out))
        self._out.clear()

    def done(self, report: Report) -> Usage:
        self._stop()
        usage = report.usage or Usage(0, 0)
        tokens = {"output_tokens": usage.completion_tokens}
        self._event("message_delta", delta={"stop_reason": self._reason}, usage=tokens)
        self._event("message_stop")
        self.flush()
        self._exchange.end()
        return usage

    def fail(self, error: GatewayError) -> None:
        if not self._exchange.started:
            super().fail(error)
            return
        self._out.append(b"event: error\ndata: " + TrialMessages().error(error)[1] + b"\n\n")
        self.flush()
        self._exchange.end()
