"""The smallest surface: text, tools and results in the form of `POST /v1/messages`, streamed and
whole, with errors of its own. Nothing in the package knows it."""

import json
from typing import Any

import msgspec

from toolwire.errors import GatewayError, Place, RequestError
from toolwire.gateway.answer.collect import Collector
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.turn import TurnService
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TextDelta, TurnEnd
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.sampling import SamplingParams
from toolwire.protocol.tool_cache import ToolCache, ToolSetDraft
from toolwire.protocol.tools import AssistantCall, ToolSpec
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.base import SurfaceCaller, error_headers
from toolwire.surfaces.exchange import Exchange, Headers
from toolwire.surfaces.sink import SurfaceSink, labels_of

CACHE = ToolCache(1 << 20)
REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
TYPES = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}


class Body(msgspec.Struct):
    model: str
    max_tokens: int
    messages: list[dict[str, Any]]
    system: str | None = None
    stream: bool = False
    tools: list[dict[str, Any]] = []


class SmallestApi:
    def __init__(self, turns: TurnService) -> None:
        self._turns = turns

    async def answer(self, exchange: Exchange, context: RequestContext) -> None:
        await self._turns.answer(Caller(exchange, context), context)

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        return error_headers(error), error_body(error)


class Caller(SurfaceCaller):
    surface = "smallest"

    def read(self) -> Request:
        try:
            body = msgspec.json.decode(self.body, type=Body)
        except msgspec.MsgspecError as error:
            raise RequestError(str(error)) from None
        tools = ToolSetDraft()
        for spec in body.tools:
            schema = CACHE.schema(
                spec["input_schema"], spec["name"], strict=False, budget=tools.budget
            )
            tools.add(ToolSpec(spec["name"], spec.get("description"), schema.schema), schema)
        system = [ChatMessage("system", body.system)] if body.system else []
        return Request(
            body.model,
            (*system, *(one for message in body.messages for one in messages_of(message))),
            tools.toolset(),
            stream=body.stream,
            include_usage=True,
            sampling=SamplingParams(max_tokens=body.max_tokens),
        )

    def sink(self, plan: Plan) -> SurfaceSink:
        kind = Stream if plan.request.stream else Whole
        return kind(self.exchange, self.context, plan)


def messages_of(message: dict[str, Any]) -> list[ChatMessage]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = tuple(
        AssistantCall(block["id"], block["name"], json.dumps(block["input"]))
        for block in blocks
        if block["type"] == "tool_use"
    )
    results = [
        ChatMessage("tool", block["content"], call_id=block["tool_use_id"])
        for block in blocks
        if block["type"] == "tool_result"
    ]
    said = [ChatMessage(message["role"], text or None, calls)] if text or calls else []
    return [*results, *said]


def error_body(error: GatewayError) -> bytes:
    place = f"{path_of(error.place)}: " if error.place is not None else ""
    kind = TYPES.get(error.status, "api_error")
    return msgspec.json.encode(
        {"type": "error", "error": {"type": kind, "message": place + error.message}}
    )


def path_of(place: Place) -> str:
    return f"messages.{place.message}" if place.message is not None else place.field


def event(kind: str, **fields: Any) -> bytes:
    data = msgspec.json.encode({"type": kind, **fields})
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


class Sink(SurfaceSink):
    def error(self, error: GatewayError) -> tuple[int, Headers, bytes]:
        return error.status, error_headers(error), error_body(error)

    def error_event(self, error: GatewayError) -> bytes:
        return b"event: error\ndata: " + error_body(error) + b"\n\n"

    def message(self, **fields: Any) -> dict[str, Any]:
        head = {"id": "msg_1", "type": "message", "role": "assistant"}
        return {**head, "model": self.plan.request.model, **fields}


class Whole(Sink):
    def begin(self, begun: Any) -> None:
        super().begin(begun)
        self.collector = Collector()

    def send(self, choice: int, events: list[Event]) -> None:
        self.collector.feed(events)

    def done(self, report: Report) -> TokenUsage:
        whole = self.collector.whole()
        content: list[Any] = [{"type": "text", "text": whole.content}] if whole.content else []
        for call in whole.calls:
            block = {"id": call.call_id, "name": call.name, "input": json.loads(call.arguments)}
            content.append({"type": "tool_use", **block})
        usage = report.usage or self.estimated(whole.characters)
        tokens = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
        body = self.message(content=content, stop_reason=REASONS[whole.reason], usage=tokens)
        headers = self.headers(sorted(report.repairs), labels_of(report))
        self.respond(report, msgspec.json.encode(body), headers)
        return usage


class Stream(Sink):
    block, open, reason, characters, out = -1, "", "end_turn", 0, b""

    def send(self, choice: int, events: list[Event]) -> None:
        self.committed = True
        for one in events:
            match one:
                case TextDelta(text):
                    if self.open != "text":
                        self._begin("text", text="")
                    self._add("text_delta", text=text)
                    self.characters += len(text)
                case CallStart(_, name, call_id):
                    self._begin("tool_use", id=call_id, name=name, input={})
                case ArgsDelta(_, part):
                    self._add("input_json_delta", partial_json=part)
                    self.characters += len(part)
                case CallEnd():
                    self._end()
                case TurnEnd(reason):
                    self.reason = REASONS[reason]
                case _:
                    pass

    def _begin(self, kind: str, **fields: Any) -> None:
        self._end()
        self.open, self.block = kind, self.block + 1
        block = {"type": kind, **fields}
        self.out += event("content_block_start", index=self.block, content_block=block)

    def _add(self, kind: str, **fields: Any) -> None:
        self.out += event("content_block_delta", index=self.block, delta={"type": kind, **fields})

    def _end(self) -> None:
        if self.open:
            self.open = ""
            self.out += event("content_block_stop", index=self.block)

    def flush(self) -> None:
        if self.out:
            if not self.exchange.started:
                self.start()
                self.exchange.write(event("message_start", message=self.message(content=[])))
            self.exchange.write(self.out)
            self.out = b""

    def done(self, report: Report) -> TokenUsage:
        self._end()
        usage = report.usage or self.estimated(self.characters)
        tokens = {"output_tokens": usage.completion_tokens}
        self.out += event("message_delta", delta={"stop_reason": self.reason}, usage=tokens)
        self.flush()
        self.exchange.end(event("message_stop"))
        return usage
