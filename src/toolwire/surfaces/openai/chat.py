"""`POST /v1/chat/completions`."""

from collections.abc import Callable
from dataclasses import dataclass

from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.protocol.requests import Request
from toolwire.surfaces.exchange import Exchange, Headers, HttpRequest
from toolwire.surfaces.openai.chunks import CompletionHead
from toolwire.surfaces.openai.errors import error_body, error_headers
from toolwire.surfaces.openai.reader import RequestReader
from toolwire.surfaces.openai.sinks import StreamSink, WholeSink
from toolwire.surfaces.profiles import PLAIN, profile_for, profile_named

NAME = "openai_chat"


@dataclass(frozen=True, slots=True)
class OpenAiChat:
    """The surface. It keeps no state of requests."""

    reader: RequestReader
    new_id: Callable[[str], str]
    """Generates a random id with this prefix."""
    now: Callable[[], float]
    """Seconds since 1970."""
    name: str = NAME

    def read(self, http: HttpRequest, context: RequestContext) -> Request:
        """See `Surface.read`."""
        profile = profile_for(http.header(b"user-agent"), http.header(b"toolwire-profile"))
        context.profile = profile.name
        request = self.reader.read(http.body, lenient_names=profile.lenient_names)
        return request if profile is PLAIN else profile.adapted(request)

    def sink(
        self, exchange: Exchange, context: RequestContext, plan: Plan
    ) -> StreamSink | WholeSink:
        """See `Surface.sink`."""
        request = plan.request
        head = CompletionHead(
            response_id=self.new_id("chatcmpl-"),
            created=int(self.now()),
            model=request.model,
            names=request.tools.originals,
            call_id_in_deltas=profile_named(context.profile).call_id_in_deltas,
        )
        kind = StreamSink if request.stream else WholeSink
        return kind(exchange, context, plan, head)

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        """See `ErrorWriter.error`."""
        return error_headers(error), error_body(error)
