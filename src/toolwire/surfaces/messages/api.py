"""The surface: `POST /v1/messages`, streamed and whole, and `/v1/messages/count_tokens`."""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from toolwire.backends.anthropic.own import HEADERS, WIRE
from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan, make_plan
from toolwire.gateway.report import Report
from toolwire.gateway.turn import TurnService, off_loop
from toolwire.protocol.events import TurnEnd
from toolwire.protocol.requests import Request
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.base import SurfaceCaller, profile_of, send_json
from toolwire.surfaces.exchange import Exchange, Headers, HttpRequest
from toolwire.surfaces.messages.adapting import without_refused
from toolwire.surfaces.messages.errors import error_body, error_headers
from toolwire.surfaces.messages.profiles import fitted
from toolwire.surfaces.messages.reader import MessagesReader, ParsedMessagesRequest
from toolwire.surfaces.messages.sinks import MessagesStreamSink, MessagesWholeSink
from toolwire.surfaces.messages.token_limits import TokenLimits
from toolwire.surfaces.messages.tokens import estimated_prompt

NAME = "anthropic_messages"
"""The surface's name in traces."""
_MOST_CHANGES = 4
_SESSION = b"x-claude-code-session-id"


class MessagesApi(msgspec.Struct, frozen=True):
    """The API. It keeps no state of requests, only the limits that backends have reported."""

    reader: MessagesReader
    turns: TurnService
    new_id: Callable[[str], str]
    """Generates a random id with this prefix."""
    limits: TokenLimits
    """The token limits that backends have reported."""

    async def answer(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer with a turn. If a backend refuses a dispensable feature, retry without it; see
        `adapting`."""
        caller = _Caller(self, exchange, context)
        try:
            await self.turns.answer(caller, context)
            while caller.waits:
                context.error = None
                await self.turns.answer(caller, context)
        except _NoTokens as wanted:
            _say_nothing(caller, context, wanted.request)

    async def count(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer with the number of tokens of a prompt. Nothing is generated."""
        body = exchange.request.body
        headers = _own_headers(exchange.request)
        asked = await off_loop(len(body), self.reader.read, body, headers, counting=True)
        request = asked.request
        tokens, _ = await self.turns.count_prompt(
            request, context, lambda tools: estimated_prompt(request.messages, tools.size)
        )
        request_id = ("request-id", context.request_id)
        send_json(exchange, context, {"input_tokens": tokens}, request_id)

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        """See `ErrorWriter.error`."""
        request_id = ("request-id", error.request_id)
        return [*error_headers(error), request_id], error_body(error)


class _NoTokens(Exception):
    """The client wants no answer, only to warm the prompt cache."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


def _say_nothing(caller: "_Caller", context: RequestContext, request: Request) -> None:
    context.route = caller.api.turns.routes.find(request.model).name
    context.model, context.stream = request.model, request.stream
    plan = make_plan(request, repair_history=True)
    sink = caller.sink(plan)
    sink.send(0, [TurnEnd("length")])
    prompt = estimated_prompt(plan.outgoing.messages, plan.outgoing.tools.size)
    context.usage = sink.done(Report(usage=TokenUsage(prompt, 0)))


def _own_headers(http: HttpRequest) -> dict[str, str]:
    """Return the client's headers that a backend of the same API gets."""
    return {name: value for name in HEADERS if (value := http.header(name.encode()))}


class _Caller(SurfaceCaller):
    """One request."""

    surface = NAME

    def __init__(self, api: MessagesApi, exchange: Exchange, context: RequestContext) -> None:
        super().__init__(exchange, context)
        self.api = api
        self.waits = False
        """Whether to retry the turn with an adapted request."""
        self._profile = profile_of(exchange, context)
        self._asked: ParsedMessagesRequest | None = None
        self._changes = 0

    def read(self) -> Request:
        """See `Caller.read`."""
        self.waits = False
        if self._asked is None:
            read = self.api.reader.read(self.body, _own_headers(self.exchange.request))
            asked = fitted(read, self._profile)
            limited = self.api.limits.applied(asked.request)
            fills = limited is not asked.request
            if session := self.exchange.request.header(_SESSION):
                limited = replace(limited, session=session)
            self._asked = replace(asked, request=limited, fills_context=fills)
        request = self._asked.request
        if request.sampling.max_tokens == 0 and not self._warms(request):
            raise _NoTokens(request)
        return request

    def _warms(self, request: Request) -> bool:
        """Whether the backend can be asked to warm its prompt cache."""
        pool = self.api.turns.routes.find(request.model).pool
        return all(backend.capabilities.wire == WIRE for backend in pool.backends)

    def sink(self, plan: Plan) -> MessagesStreamSink | MessagesWholeSink:
        """See `Caller.sink`."""
        kind = MessagesStreamSink if plan.request.stream else MessagesWholeSink
        asked = self._asked or ParsedMessagesRequest(plan.request)
        message_id = self.api.new_id("msg_")
        return kind(
            self.exchange, self.context, plan, asked, message_id=message_id, again=self._again
        )

    def _again(self, error: GatewayError) -> bool:
        """Whether the request can be adapted and retried."""
        if self._asked is None or self._changes >= _MOST_CHANGES:
            return False
        changed = without_refused(self._asked.request, error)
        if changed is None:
            return False
        self._changes += 1
        fills = self.api.limits.learn(self._asked.request, error) or self._asked.fills_context
        self._asked = replace(self._asked, request=changed, fills_context=fills)
        self.waits = True
        return True
