"""The application: builds everything from the configuration, and routes each request to its
surface, with the same checks and the same handling of errors for all."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import msgspec

from toolwire.backends.base import Backend
from toolwire.backends.embedded.engine import EmbeddedEngine
from toolwire.errors import (
    GatewayError,
    InternalError,
    MethodNotAllowed,
    NotFound,
    Overloaded,
    RequestError,
    ShuttingDown,
    TooLarge,
    Unauthorized,
)
from toolwire.gateway.context import RequestContext
from toolwire.gateway.report import Report
from toolwire.gateway.turn import TurnService
from toolwire.server.assembly import (
    build_routes,
    repair_policy,
    request_reader,
    response_reader,
    turn_limits,
)
from toolwire.server.auth import Keyring, bearer
from toolwire.server.check_process import CheckProcess
from toolwire.server.config.settings import Config
from toolwire.server.descriptions import Descriptions
from toolwire.server.logs import Logs
from toolwire.server.metrics import Metrics
from toolwire.server.random_ids import new_id
from toolwire.server.router import Handler, Resource, Router
from toolwire.server.trace_store import TraceStore
from toolwire.server.web_guard import WebGuard, is_preflight, preflight_headers
from toolwire.surfaces.base import Surface, TurnEndpoint
from toolwire.surfaces.exchange import Exchange, HttpRequest
from toolwire.surfaces.openai.chat import OpenAiChat
from toolwire.surfaces.openai.models import Models
from toolwire.surfaces.passing.endpoints import AllowList
from toolwire.surfaces.passing.passthrough import Passthrough
from toolwire.surfaces.responses.surface import Responses

_log = logging.getLogger("toolwire.server")
_MOST_ADMITTED = 1024
"""A cache of accepted Authorization headers. Lookups hash with a random key, so their time reveals
nothing about a header that is not in it."""


class App:
    """Everything one process serves."""

    def __init__(
        self,
        config: Config,
        logs: Logs,
        *,
        clock: Callable[[], float],
        engine: EmbeddedEngine | None = None,
    ) -> None:
        self.metrics = Metrics([route.name for route in config.models])
        self.draining = False
        self._logs = logs
        self._clock = clock
        self._keys = Keyring(config.keys)
        self._guard = WebGuard(config.listen, open=self._keys.open)
        self._most_requests = config.limits.requests
        self._admitted: dict[bytes, str] = {}
        self._told: set[tuple[str, str, str]] = set()
        self._traces = _trace_store(config, logs)
        self._checker = CheckProcess()
        self.routes = build_routes(config, engine, clock, logs.redact)
        turns = TurnService(
            routes=self.routes,
            pace=turn_limits(config),
            repair_history=config.history == "repair",
            new_call_id=partial(new_id, "call_"),
            now=time.time,
            repair_policy=repair_policy(config),
            checker=self._checker,
            keep=self._traces.keep if self._traces is not None else None,
        )
        self._openai = OpenAiChat(request_reader(config), new_id, time.time)
        # A broken history is repaired: agents of this API cannot go on after an error about it.
        lenient = replace(turns, repair_history=True)
        responses = Responses(response_reader(config), lenient, new_id, time.time)
        described = Descriptions()
        models = Models(self.routes, int(time.time()), self._fetch_models)
        table = {
            "/v1/chat/completions": self._turn(self._openai, turns),
            "/v1/responses": Resource(responses, {"POST": responses.answer}),
            "/v1/models": self._get(models.list),
            "/v1/models/{id...}": self._get(models.show),
            "/openapi.json": self._get(described.document),
            "/docs": self._get(described.page),
            "/metrics": self._get(self._metrics),
            "/healthz": self._get(self._health),
            "/readyz": self._get(self._ready),
        }
        self._router = Router(table, self._openai)
        self._probes = {b"/healthz": self._say_alive, b"/readyz": self._say_ready}
        self._open = frozenset({"/healthz", "/readyz", "/openapi.json", "/docs"})
        self._allowed = AllowList(config.passthrough)
        passthrough = Passthrough(
            self.routes, turn_limits(config), new_id, max_values=config.limits.values
        )
        self._pass_on: Handler = passthrough.answer

    async def __call__(self, exchange: Exchange) -> None:
        """Answer one request, whatever happens."""
        context = RequestContext(new_id("req_"))
        started = self._clock()
        self.metrics.in_flight.inc()
        try:
            await self._serve(exchange, context)
        except GatewayError as error:
            context.error = error.code
            self._fail(exchange, context, error)
        except Exception:  # noqa: BLE001 - the last net
            _log.exception("request %s failed", context.request_id)
            context.error = InternalError.code
            text = f"Toolwire failed. The log has the details under {context.request_id}."
            self._fail(exchange, context, InternalError(text))
        finally:
            self.metrics.in_flight.dec()
            self._account(exchange, context, started)

    def probe(self, exchange: Exchange) -> bool:
        """Answer a health probe immediately; False if the request is not one."""
        say = self._probes.get(exchange.request.target)
        if say is None or exchange.request.method != "GET":
            return False
        started, context = self._clock(), RequestContext(new_id("req_"))
        say(exchange, context)
        self._account(exchange, context, started)
        return True

    def admits(self, request: HttpRequest) -> bool:
        """Whether to read a request's body: not if its head gets it refused anyway."""
        try:
            if request.path not in self._open:
                self._guard.check(request.headers)
                self._admit(request)
                self._find_room()
            self._handler(request.method, request.path)
        except GatewayError:
            return False
        return True

    def refuse(self, exchange: Exchange, status: int) -> None:
        """Refuse invalid HTTP, or a request beyond the limits."""
        self.metrics.refused(str(status))
        error = _REFUSALS.get(status, RequestError("The request is not valid HTTP/1.1."))
        headers, body = self._router.writer(exchange.request.path).error(error)
        exchange.respond(status, headers, body)

    async def aclose(self) -> None:
        """Drop idle connections to backends, end processes, and write the last traces."""
        self._checker.close()
        for backend in self.backends():
            await backend.aclose()
        if self._traces is not None:
            self._traces.close()

    def backends(self) -> list[Backend]:
        """Every backend of every model."""
        return [backend for model in self.routes.models for backend in model.pool.backends]

    async def _serve(self, exchange: Exchange, context: RequestContext) -> None:
        request = exchange.request
        path = request.path
        if path not in self._open:
            context.page = self._guard.check(request.headers)
            if context.page and is_preflight(request.method, request.headers):
                allowed = preflight_headers(request.headers)
                exchange.respond(204, [*context.headers(), *allowed], b"")
                return
            context.key_name = self._admit(request)
            self._find_room()
        await self._handler(request.method, path)(exchange, context)

    def _find_room(self) -> None:
        """Refuse requests beyond the limit, or during shutdown."""
        if self.draining:
            raise ShuttingDown("The server is shutting down. Try again.")
        if self.metrics.in_flight.value > self._most_requests:
            raise Overloaded(
                f"This server is already handling {self._most_requests} requests, its limit "
                "(limits.requests). Try again later."
            )

    def _admit(self, request: HttpRequest) -> str | None:
        """The name of the request's key, if it needs one."""
        if self._keys.open:
            return None
        given = request.headers.get(b"authorization", b"")
        name = self._admitted.get(given)
        if name is None:
            name = self._admitted[given] = self._check(given)
        return name

    def _check(self, given: bytes) -> str:
        """The name of a key that is not in the cache."""
        name = self._keys.check(given)
        if name is None:
            raise Unauthorized(_KEY_WRONG if given else _KEY_MISSING)
        self._logs.see((bearer(given) or b"").decode("ascii"))
        if len(self._admitted) >= _MOST_ADMITTED:
            self._admitted.clear()
        return name

    def _handler(self, method: str, path: str) -> Handler:
        found = self._router.find(path)
        methods = (
            found.methods
            if found is not None
            else dict.fromkeys(self._allowed.methods(path), self._pass_on)
        )
        if not methods:
            raise NotFound(f"There is nothing at '{path[:200]}'. {_ABOUT_PATHS}")
        # HEAD is allowed wherever GET is: some monitors use it.
        handler = methods.get("GET" if method == "HEAD" else method)
        if handler is None:
            raise MethodNotAllowed(
                f"'{path}' takes {' or '.join(methods)}, but the request was {method}.",
                allowed=methods,
            )
        return handler

    def _fail(self, exchange: Exchange, context: RequestContext, error: GatewayError) -> None:
        if exchange.started:
            exchange.abort()
        else:
            headers, body = self._router.writer(exchange.request.path).error(error)
            exchange.respond(error.status, [*context.headers(), *headers], body)

    def _turn(self, api: Surface, turns: TurnService) -> Resource:
        return Resource(api, {"POST": TurnEndpoint(api, turns).answer})

    def _get(self, handler: Handler) -> Resource:
        return Resource(self._openai, {"GET": handler})

    def _account(self, exchange: Exchange, context: RequestContext, started: float) -> None:
        seconds = self._clock() - started
        request = exchange.request
        status = 499 if exchange.gone and not exchange.sent else exchange.status
        metrics = self.metrics
        metrics.request_done(context.route, status, context.stream, seconds)
        if context.error is not None and context.backend:
            metrics.backend_error(context.error)
        if context.report is not None:
            self._count(context.report, stream=context.stream)
            self._tell_formats(context)
        if context.usage is not None:
            metrics.tokens(context.usage.prompt_tokens, context.usage.completion_tokens)
        if exchange.gone:
            metrics.client_gone("streaming" if exchange.started else "waiting")
        self._logs.access(
            context.request_id,
            request.method,
            request.path,
            status,
            model=context.model,
            backend=context.backend or None,
            mode=context.way or None,
            key_name=context.key_name,
            duration_ms=seconds * 1000,
            stream=context.stream,
            sent=exchange.sent,
        )

    def _tell_formats(self, context: RequestContext) -> None:
        """Log once which format a model was found to write."""
        for rule in context.report.repairs if context.report is not None else ():
            found = (context.model or "", context.backend, rule)
            if rule.startswith("format_detected:") and found not in self._told:
                if len(self._told) < _MOST_ADMITTED:
                    self._told.add(found)
                name = rule.partition(":")[2]
                text = "the model %r on %s writes its calls as %s: set format = %r for its route"
                _log.info(text, found[0][:100], found[1], name, name)

    def _count(self, report: Report, *, stream: bool) -> None:
        metrics = self.metrics
        metrics.calls(report.calls)
        if stream and report.first_token_after is not None:
            metrics.first_token(report.first_token_after)
        for reason in report.retries:
            metrics.retried(reason)
        for rule in report.repairs:
            metrics.repaired(rule.partition(":")[0])
        for finding in report.findings:
            metrics.unfit(finding.code)

    # Small endpoints.

    async def _health(self, exchange: Exchange, context: RequestContext) -> None:
        self._say_alive(exchange, context)

    async def _ready(self, exchange: Exchange, context: RequestContext) -> None:
        self._say_ready(exchange, context)

    def _say_alive(self, exchange: Exchange, context: RequestContext) -> None:
        exchange.respond(200, [*context.headers(), _JSON], b'{"status":"ok"}')

    def _say_ready(self, exchange: Exchange, context: RequestContext) -> None:
        status, word = (503, "draining") if self.draining else (200, "ready")
        body = msgspec.json.encode({"status": word})
        exchange.respond(status, [*context.headers(), _JSON], body)

    async def _metrics(self, exchange: Exchange, context: RequestContext) -> None:
        kind = ("content-type", "text/plain; version=0.0.4; charset=utf-8")
        # In a thread, because the first call imports prometheus_client.
        text = await asyncio.to_thread(self.metrics.render)
        exchange.respond(200, [*context.headers(), kind], text)

    async def _fetch_models(self) -> list[str]:
        model = self.routes.any
        return [] if model is None else await model.pool.pick().backend.models()


_JSON = ("content-type", "application/json")
_ABOUT_PATHS = "The API is under /v1; 'passthrough' sets which other endpoints are passed on."
_KEY_MISSING = (
    "You didn't provide an API key. Send it in an Authorization header: "
    "'Authorization: Bearer YOUR_KEY'."
)
_KEY_WRONG = "Incorrect API key provided. Check the key, or ask this server's operator for one."
_REFUSALS: dict[int, GatewayError] = {
    408: RequestError("The request did not arrive in time.", code="request_timeout"),
    413: TooLarge("The request body is larger than this server accepts (limits.body_bytes)."),
    431: RequestError("The request's headers are too large or too many.", code="headers_too_large"),
    417: RequestError(
        "The only supported expectation is '100-continue'.", code="expectation_failed"
    ),
    501: RequestError(
        "The only supported transfer coding is 'chunked'.", code="unsupported_coding"
    ),
    503: Overloaded(
        "The server is overloaded: too many connections or requests, or too large bodies "
        "(connections and bodies_bytes in [limits], queue in [timeouts]). Try again later."
    ),
}


def _trace_store(config: Config, logs: Logs) -> TraceStore | None:
    trace = config.trace
    if trace.dir is None:
        return None
    return TraceStore(trace.dir, max_bytes=trace.max_bytes, bodies=trace.bodies, redact=logs.redact)
