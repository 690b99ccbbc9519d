"""A surface: an API that clients speak. It only decodes requests and encodes answers."""

from dataclasses import dataclass
from typing import Protocol

from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.sink import Flow
from toolwire.gateway.turn import StoredHistory, TurnService, TurnSink
from toolwire.protocol.requests import Request
from toolwire.surfaces.exchange import Exchange, Headers, HttpRequest


class ErrorWriter(Protocol):
    """Encodes errors in the format of one API."""

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        """Return the headers and the body of an error response."""
        ...


class Surface(ErrorWriter, Protocol):
    """One API."""

    @property
    def name(self) -> str:
        """Its name in traces."""
        ...

    def read(self, http: HttpRequest, context: RequestContext) -> Request:
        """Decode the request. Raises `RequestError`."""
        ...

    def sink(self, exchange: Exchange, context: RequestContext, plan: Plan) -> TurnSink:
        """Return the sink that encodes the answer."""
        ...


@dataclass(frozen=True, slots=True)
class SurfaceCaller:
    """One request to a surface: see `Caller`."""

    api: Surface
    exchange: Exchange
    context: RequestContext
    conversation: StoredHistory | None = None

    @property
    def surface(self) -> str:
        """See `Caller.surface`."""
        return self.api.name

    @property
    def body(self) -> bytes:
        """See `Caller.body`."""
        return self.exchange.request.body

    @property
    def gone(self) -> bool:
        """See `Caller.gone`."""
        return self.exchange.gone

    @property
    def flow(self) -> Flow:
        """See `Caller.flow`."""
        return self.exchange.on_flow

    def read(self) -> Request:
        """See `Caller.read`."""
        return self.api.read(self.exchange.request, self.context)

    def sink(self, plan: Plan) -> TurnSink:
        """See `Caller.sink`."""
        return self.api.sink(self.exchange, self.context, plan)


@dataclass(frozen=True, slots=True)
class TurnEndpoint:
    """An endpoint of a surface that answers with a turn."""

    api: Surface
    turns: TurnService

    async def answer(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer one request."""
        await self.turns.answer(SurfaceCaller(self.api, exchange, context), context)
