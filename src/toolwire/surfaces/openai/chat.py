"""`POST /v1/chat/completions`."""

from collections.abc import Awaitable, Callable

import msgspec

from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.turn import TurnService
from toolwire.protocol.requests import Request
from toolwire.surfaces.base import SurfaceCaller, error_headers, profile_of
from toolwire.surfaces.exchange import Exchange, Headers
from toolwire.surfaces.openai.chunks import CompletionHead
from toolwire.surfaces.openai.errors import error_body
from toolwire.surfaces.openai.reader import RequestReader
from toolwire.surfaces.openai.sinks import ChatStreamSink, ChatWholeSink
from toolwire.surfaces.profiles import PLAIN

NAME = "openai_chat"


class OpenAiChat(msgspec.Struct, frozen=True):
    """The surface. It keeps no state of requests."""

    reader: RequestReader
    turns: TurnService
    new_id: Callable[[str], str]
    """Generates a random id with this prefix."""
    now: Callable[[], float]
    """Seconds since 1970."""

    def answer(self, exchange: Exchange, context: RequestContext) -> Awaitable[None]:
        """Answer one request."""
        return self.turns.answer(_Caller(self, exchange, context), context)

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        """See `ErrorWriter.error`."""
        return error_headers(error), error_body(error)


class _Caller(SurfaceCaller):
    """One request."""

    surface = NAME

    def __init__(self, api: OpenAiChat, exchange: Exchange, context: RequestContext) -> None:
        super().__init__(exchange, context)
        self._api = api
        self._profile = profile_of(exchange, context)

    def read(self) -> Request:
        """See `Caller.read`."""
        profile = self._profile
        request = self._api.reader.read(self.body, lenient_names=profile.lenient_names)
        return request if profile is PLAIN else profile.adapted(request)

    def sink(self, plan: Plan) -> ChatStreamSink | ChatWholeSink:
        """See `Caller.sink`."""
        request = plan.request
        head = CompletionHead(
            response_id=self._api.new_id("chatcmpl-"),
            created=int(self._api.now()),
            model=request.model,
            names=request.tools.originals,
            call_id_in_deltas=self._profile.call_id_in_deltas,
        )
        kind = ChatStreamSink if request.stream else ChatWholeSink
        return kind(self.exchange, self.context, plan, head)
