"""`POST /v1/responses`: the surface, and one request to it."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.sink import Flow
from toolwire.gateway.turn import Conversation, TurnService
from toolwire.protocol.requests import Request
from toolwire.protocol.usage import Usage
from toolwire.surfaces.exchange import Exchange, Headers
from toolwire.surfaces.openai_error import error_headers
from toolwire.surfaces.responses.errors import error_body
from toolwire.surfaces.responses.fields import ENCRYPTED
from toolwire.surfaces.responses.reader import Asked, ReadRequest, ResponseReader
from toolwire.surfaces.responses.response import ResponseHead, echo_of
from toolwire.surfaces.responses.sinks import Answering, StreamSink, WholeSink

_JSON = ("content-type", "application/json")
CODEX = "codex"
_CODEX_AGENTS = ("codex_", "codex-")


class Nothing(Exception):
    """A request that asks for nothing, which is answered with nothing."""


@dataclass(frozen=True, slots=True)
class Responses:
    """The surface. It has no state of any request."""

    reader: ResponseReader
    turns: TurnService
    new_id: Callable[[str], str]
    """Makes a random id with this prefix."""
    now: Callable[[], float]
    """Seconds since 1970."""

    async def answer(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer one request."""
        caller = ResponsesCaller(self, exchange, context)
        try:
            await self.turns.answer(caller, context)
        except Nothing:
            head = caller.head(stored=False, parallel=True)
            body = head.object("completed", usage=Usage(0, 0), completed_at=head.created)
            headers = [*context.headers(), _JSON]
            exchange.respond(200, headers, msgspec.json.encode(body))

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        """See `ErrorWriter.error`."""
        return error_headers(error), error_body(error)


class ResponsesCaller:
    """One request: see `Caller`."""

    surface = "responses"

    def __init__(self, api: Responses, exchange: Exchange, context: RequestContext) -> None:
        self._api = api
        self._exchange = exchange
        self._context = context
        self._asked: Asked | None = None
        self._read: ReadRequest | None = None

    @property
    def body(self) -> bytes:
        """See `Caller.body`."""
        return self._exchange.request.body

    @property
    def gone(self) -> bool:
        """See `Caller.gone`."""
        return self._exchange.gone

    @property
    def flow(self) -> Flow:
        """See `Caller.flow`."""
        return self._exchange.on_flow

    @property
    def conversation(self) -> Conversation | None:
        """See `Caller.conversation`."""
        return None

    def read(self) -> Request:
        """See `Caller.read`."""
        agent = self._exchange.request.header(b"user-agent")
        self._context.profile = CODEX if agent.startswith(_CODEX_AGENTS) else "default"
        asked = self._asked = self._api.reader.read(self.body)
        if asked.is_probe:
            self._api.turns.routes.find(asked.params.values["model"])
            raise Nothing
        self._read = self._api.reader.request(asked, asked.items)
        return self._read.request

    def sink(self, plan: Plan) -> StreamSink | WholeSink:
        """See `Caller.sink`."""
        assert self._asked is not None and self._read is not None  # noqa: S101, PT018
        about = Answering(
            self._exchange,
            self._context,
            self.head(stored=False, parallel=plan.request.parallel),
            self._read.tools,
            self._read.positions,
            self._api.new_id,
            self._api.now,
            sealed=ENCRYPTED in self._asked.params.included,
            overflow_in_stream=self._context.profile == CODEX,
        )
        return (StreamSink if plan.request.stream else WholeSink)(about, plan)

    def head(self, *, stored: bool, parallel: bool) -> ResponseHead:
        """What is known of the response."""
        assert self._asked is not None  # noqa: S101
        echo = echo_of(self._asked.params, stored=stored, parallel=parallel)
        return ResponseHead(self._api.new_id("resp_"), int(self._api.now()), echo)
