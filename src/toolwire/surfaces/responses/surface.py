"""`POST /v1/responses`: the surface, and one request to it."""

from collections.abc import Callable
from contextlib import suppress

import msgspec
from msgspec import Raw

from toolwire.errors import GatewayError, RequestError, StoreUnavailable
from toolwire.gateway.answer.collect import Whole
from toolwire.gateway.context import RequestContext
from toolwire.gateway.estimate import estimate
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.turn import StoredHistory, TurnService, off_loop
from toolwire.protocol.requests import Request
from toolwire.surfaces.base import SurfaceCaller, error_headers, profile_of, send_json
from toolwire.surfaces.exchange import ESTIMATED, Exchange, Headers
from toolwire.surfaces.explain import missing
from toolwire.surfaces.responses.errors import error_body
from toolwire.surfaces.responses.output.response import (
    ResponseHead,
    echo_of,
    long_echo_of,
)
from toolwire.surfaces.responses.output.sinks import (
    ResponseContext,
    ResponseStreamSink,
    ResponseWholeSink,
    empty_answer,
)
from toolwire.surfaces.responses.request.fields import ENCRYPTED
from toolwire.surfaces.responses.request.items import Item
from toolwire.surfaces.responses.request.reader import (
    ParsedResponsesRequest,
    ReadRequest,
    ResponseReader,
)
from toolwire.surfaces.responses.storage.pruning import Pruner
from toolwire.surfaces.responses.storage.state import NewResponse, ResponseStore, as_kept

NAME = "openai_responses"
CODEX = "codex"


class Nothing(Exception):
    """An empty request, which gets an empty answer."""


class Responses(msgspec.Struct, frozen=True):
    """The surface. It keeps no state of requests."""

    reader: ResponseReader
    turns: TurnService
    stored: ResponseStore
    new_id: Callable[[str], str]
    """Generates a random id with this prefix."""
    now: Callable[[], float]
    """Seconds since 1970."""
    pruner: Pruner | None = None
    """Limits what is stored; None: nothing does."""

    async def answer(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer one request."""
        caller = ResponsesCaller(self, exchange, context)
        try:
            await self.turns.answer(caller, context)
        except Nothing:
            headers, body = empty_answer(caller.head(parallel=True), stream=caller.streamed)
            exchange.respond(200, [*context.headers(), *headers], body)

    async def count(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer with the number of tokens of a prompt. Nothing is generated."""
        caller = ResponsesCaller(self, exchange, context)
        try:
            request = await off_loop(len(caller.body), caller.read)
        except Nothing:
            raise missing("input") from None
        request = await caller.load(request)
        tokens, estimated = await self.turns.count_prompt(
            request,
            context,
            lambda tools: estimate(request.messages, tools.size, 0).prompt_tokens,
        )
        body = {"object": "response.input_tokens", "input_tokens": tokens}
        send_json(exchange, context, body, *([ESTIMATED] if estimated else []))

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        """See `ErrorWriter.error`."""
        return error_headers(error), error_body(error)


class ResponsesCaller(SurfaceCaller):
    """One request, and its `StoredHistory`."""

    surface = NAME

    def __init__(self, api: Responses, exchange: Exchange, context: RequestContext) -> None:
        super().__init__(exchange, context)
        self._api = api
        self._owner = context.key_name or ""
        self._profile = profile_of(exchange, context)
        self._asked: ParsedResponsesRequest | None = None
        self._items: list[Item] = []
        self._size = len(self.body)
        self._read: ReadRequest | None = None
        self._sink: ResponseStreamSink | ResponseWholeSink | None = None

    @property
    def streamed(self) -> bool:
        """Whether the client wants events."""
        return bool(self._given.params.values.get("stream"))

    @property
    def conversation(self) -> StoredHistory | None:
        """See `Caller.conversation`: this request, if it reads or writes stored responses."""
        return self if self._keeps or self._given.refers else None

    def read(self) -> Request:
        """See `Caller.read`. Requests that refer to stored items are decoded in `load`."""
        asked = self._asked = self._api.reader.read(self.body)
        if asked.is_probe:
            self._api.turns.routes.find(asked.params.values["model"])
            raise Nothing
        if asked.refers:
            return Request(asked.params.values["model"], ())
        return self._request(list(asked.items))

    async def load(self, request: Request) -> Request:
        """See `StoredHistory.load`."""
        asked = self._given
        if not asked.refers:
            return request
        found, size = await self._api.stored.resolve(self._owner, asked.previous, asked.items)
        if len(found) > self._api.reader.max_items:
            raise RequestError(
                f"Invalid 'input': together with 'previous_response_id' it has more than "
                f"{self._api.reader.max_items} items.",
                param="input",
                code="array_above_max_length",
            )
        self._size += size
        return await off_loop(self._size, self._request, list(found))

    async def keep(self, request: Request, answer: Whole, report: Report) -> None:  # noqa: ARG002
        """See `StoredHistory.keep`. Stores the items as the client received them."""
        if not self._keeps or self._sink is None:
            return
        head, fields = self._sink.about.head, self._sink.finished(report)
        name = head.response_id
        new = NewResponse(Raw(head.encode(fields)), as_kept(self._items, name))
        put, output = self._api.stored.put, fields["output"]
        size = 0
        # Sending the answer matters more than storing it.
        with suppress(StoreUnavailable):
            size = await put(self._owner, name, new, output, self._size)
        fields["store"] = size > 0
        if size and self._api.pruner is not None:
            self._api.pruner.added(self._owner, size)

    def sink(self, plan: Plan) -> ResponseStreamSink | ResponseWholeSink:
        """See `Caller.sink`."""
        read = self._read or self._api.reader.request(self._given, self._items)
        about = ResponseContext(
            self.head(parallel=plan.request.parallel),
            read.tools,
            read.positions,
            self._api.new_id,
            self._api.now,
            stored=self._keeps,
            sealed=ENCRYPTED in self._given.params.included,
            overflow_in_stream=self._profile.overflow_in_stream,
        )
        kind = ResponseStreamSink if plan.request.stream else ResponseWholeSink
        self._sink = kind(self.exchange, self.context, plan, about)
        return self._sink

    def head(self, *, parallel: bool) -> ResponseHead:
        """Return the fields of the response that are known in advance."""
        params = self._given.params
        # Codex does not read the long fields.
        long: dict[str, bytes] = {} if self._profile.name == CODEX else long_echo_of(params)
        echo = echo_of(params, parallel=parallel)
        return ResponseHead(self._api.new_id("resp_"), int(self._api.now()), echo, long)

    def _request(self, items: list[Item]) -> Request:
        self._items = items
        self._read = self._api.reader.request(self._given, items)
        return self._profile.adapted(self._read.request)

    @property
    def _given(self) -> ParsedResponsesRequest:
        if self._asked is None:
            raise RuntimeError("the request was not read yet")
        return self._asked

    @property
    def _keeps(self) -> bool:
        """Whether the response is stored."""
        return self._api.stored.on and self._given.params.values.get("store") is not False
