"""The application: builds everything from the configuration, and routes each request to its
surface, with the same checks and the same handling of errors for all."""

import asyncio
import logging
import time
from collections.abc import Callable
from copy import copy
from functools import partial

import msgspec

from toolwire.backends.base import Backend
from toolwire.backends.embedded.engine import EmbeddedEngine
from toolwire.errors import (
    GatewayError,
    InternalError,
    MethodNotAllowed,
    Overloaded,
    RequestError,
    ResourceNotFound,
    ShuttingDown,
    TooLarge,
    UpstreamError,
)
from toolwire.gateway.context import RequestContext
from toolwire.gateway.report import Report
from toolwire.gateway.trace.records import TraceSwitch
from toolwire.gateway.turn import TurnService
from toolwire.inspector.endpoints import POLLED, page_endpoints
from toolwire.server.access.auth import Admission, Keyring
from toolwire.server.access.web_guard import WebGuard, is_preflight, preflight_headers
from toolwire.server.apis.descriptions import Descriptions
from toolwire.server.apis.inspector import inspector_api
from toolwire.server.apis.messages import messages_api
from toolwire.server.apis.native import native_api
from toolwire.server.apis.responses import responses_api
from toolwire.server.assembly import (
    build_routes,
    repair_policy,
    request_reader,
    turn_limits,
)
from toolwire.server.config.settings import Config
from toolwire.server.health.backend_watch import BackendWatch
from toolwire.server.health.readiness import Readiness
from toolwire.server.process.check_process import CheckProcess
from toolwire.server.process.random_ids import new_id
from toolwire.server.router import Handler, Resource, Router
from toolwire.server.telemetry.logs import Logs, TurnFacts
from toolwire.server.telemetry.metrics import Metrics
from toolwire.server.telemetry.trace_memory import MemoryTraces
from toolwire.server.telemetry.trace_store import TraceStore
from toolwire.sessions.open import open_store
from toolwire.surfaces.exchange import Exchange, HttpRequest
from toolwire.surfaces.models import Models
from toolwire.surfaces.openai.chat import OpenAiChat
from toolwire.surfaces.passing.endpoints import AllowList
from toolwire.surfaces.passing.passthrough import Passthrough

_log = logging.getLogger("toolwire.server")


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
        backends = {backend.name for route in config.models for backend in route.backends}
        self.metrics = Metrics([route.name for route in config.models], backends)
        self.watch = BackendWatch(backends, self.metrics, clock)
        self.sessions = self.metrics.sessions = open_store(config.sessions.store)
        watched = self.watch if config.health.ready == "backend" else None
        self._readiness = Readiness(
            self.sessions, store_required=config.sessions.required, backends=watched
        )
        self.draining = False
        self._logs = logs
        self._clock = clock
        keys = Keyring(config.keys)
        self._admission = Admission(keys, logs.see)
        self._guard = WebGuard(config.listen, open=keys.open)
        self._most_requests = config.limits.requests
        self._traces = _trace_store(config, logs)
        self._checker = CheckProcess()
        self.routes = build_routes(config, engine, clock, logs.redact, self.watch)
        turns = TurnService(
            routes=self.routes,
            limits=turn_limits(config),
            repair_history=config.history == "repair",
            new_call_id=partial(new_id, "call_"),
            now=time.time,
            repair_policy=repair_policy(config),
            checker=self._checker,
            keep=self._traces.keep if self._traces is not None else None,
            observer=self.watch,
            tracing=self._traces.tracing if self._traces is not None else TraceSwitch(on=False),
        )
        self._openai = OpenAiChat(request_reader(config), turns, new_id, time.time)
        described = Descriptions()
        native = native_api(config, turns, self.sessions, self._openai.reader.tools.cache)
        models = Models(self.routes, int(time.time()), self._fetch_models)
        table = {
            "/v1/chat/completions": Resource(self._openai, {"POST": self._openai.answer}),
            **native,
            **responses_api(config, turns, self.sessions, self._openai.reader.tools.cache),
            "/v1/models": self._get(models.list),
            "/v1/models/{id...}": self._get(models.show),
            "/openapi.json": self._get(described.document),
            "/docs": self._get(described.page),
            **messages_api(config, turns),
            "/metrics": self._get(self._metrics),
            "/healthz": self._get(self._health),
            "/readyz": self._get(self._ready),
            **dict.fromkeys(_WARM_UPS, self._get(self._health)),
        }
        if self._traces is not None and config.has_inspector:
            table |= inspector_api(config, self._openai, self._traces, self._checker)
        self._router = Router(table, self._openai)
        self._probes = {b"/healthz": self._say_alive, b"/readyz": self._say_ready}
        self._open = frozenset({*_OPEN, *_WARM_UPS, *page_endpoints()})
        self._allowed = AllowList(config.passthrough)
        passthrough = Passthrough(
            self.routes,
            turn_limits(config),
            new_id,
            max_values=config.limits.values,
            observer=self.watch,
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
        except Exception:  # noqa: BLE001 - the last resort
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
        """Whether to read a request's body: not if its head is refused anyway."""
        try:
            if request.path not in self._open:
                self._guard.check(request.headers)
                self._admission.name(request.headers)
                self._find_room()
            self._handler(request.method, request.path)
        except GatewayError:
            return False
        return True

    def refuse(self, exchange: Exchange, status: int) -> None:
        """Refuse invalid HTTP, or a request beyond the limits."""
        self.metrics.refused(str(status))
        error = copy(_REFUSALS.get(status, _INVALID))
        error.status = status
        self._fail(exchange, RequestContext(new_id("req_")), error)

    async def aclose(self) -> None:
        """Drop connections to backends and stores, end processes, and write the last traces."""
        self._checker.close()
        if self.sessions is not None:
            await self.sessions.aclose()
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
            context.key_name = self._admission.name(request.headers)
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

    def _handler(self, method: str, path: str) -> Handler:
        found = self._router.find(path)
        methods = (
            found.methods
            if found is not None
            else dict.fromkeys(self._allowed.methods(path), self._pass_on)
        )
        if not methods:
            raise ResourceNotFound(f"There is nothing at '{path[:200]}'. {_ABOUT_PATHS}")
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
            error.request_id = context.request_id
            api = self._api(exchange.request)
            headers, body = api.writer.error(error)
            status = api.statuses.get(error.status, error.status)
            exchange.respond(status, [*context.headers(), *headers], body)

    def _api(self, request: HttpRequest) -> Resource:
        """Return a resource of the API that a client speaks, for errors in its form."""
        # Anthropic's clients share some paths, such as /v1/models, with OpenAI's.
        path = "/v1/messages" if b"anthropic-version" in request.headers else request.path
        return self._router.api(path)

    def _get(self, handler: Handler) -> Resource:
        return Resource(self._openai, {"GET": handler})

    def _account(self, exchange: Exchange, context: RequestContext, started: float) -> None:
        seconds = self._clock() - started
        request = exchange.request
        path = request.path
        status = 499 if exchange.gone and not exchange.sent else exchange.status
        metrics = self.metrics
        metrics.request_done(context.route, status, context.stream, seconds)
        if context.report is not None:
            self._count(context.report, stream=context.stream)
        if context.usage is not None:
            metrics.tokens(context.usage.prompt_tokens, context.usage.completion_tokens)
        if exchange.gone:
            metrics.client_gone("streaming" if exchange.started else "waiting")
        if path == POLLED and status == 200:
            return
        self._logs.access(
            context.request_id,
            request.method,
            path,
            status,
            model=context.model,
            backend=context.backend or None,
            mode=context.mode or None,
            key_name=context.key_name,
            duration_ms=seconds * 1000,
            stream=context.stream,
            sent=exchange.sent,
            turn=_facts(context),
        )

    def _count(self, report: Report, *, stream: bool) -> None:
        metrics = self.metrics
        metrics.calls(report.calls)
        if stream and report.first_token_after is not None:
            metrics.first_token(report.backend, report.first_token_after)
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
        status, body = self._readiness.status(draining=self.draining)
        exchange.respond(status, [*context.headers(), _JSON], msgspec.json.encode(body))

    async def _metrics(self, exchange: Exchange, context: RequestContext) -> None:
        kind = ("content-type", "text/plain; version=0.0.4; charset=utf-8")
        # In a thread, because the first call imports prometheus_client.
        text = await asyncio.to_thread(self.metrics.render)
        exchange.respond(200, [*context.headers(), kind], text)

    async def _fetch_models(self) -> list[str]:
        model = self.routes.any
        if model is None:
            return []
        backend = model.pool.pick().backend
        try:
            return await backend.models()
        except UpstreamError as error:
            self.watch.probed(backend.name, error)
            raise


def _facts(context: RequestContext) -> TurnFacts | None:
    """Return what the access line reports about a turn, if there was one."""
    report = context.report
    if report is None:
        return None
    usage = context.usage or report.usage
    return TurnFacts(
        usage.prompt_tokens if usage is not None else None,
        usage.completion_tokens if usage is not None else None,
        report.first_token_after,
        len(report.retries),
        [repair.partition(":")[0] for repair in report.repairs],
    )


_JSON = ("content-type", "application/json")
_OPEN = ("/healthz", "/readyz", "/openapi.json", "/docs")
_WARM_UPS = ("/", "/api/hello")
"""Paths that Claude Code requests, without a key, to open a connection before it needs one."""
_ABOUT_PATHS = "The API is under /v1; 'passthrough' sets which other endpoints are passed on."
_INVALID = RequestError("The request is not valid HTTP/1.1.")
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


def _trace_store(config: Config, logs: Logs) -> TraceStore | MemoryTraces | None:
    trace = config.trace
    if trace.dir is None:
        inspected = config.has_inspector
        return MemoryTraces(bodies=trace.bodies, redact=logs.redact) if inspected else None
    return TraceStore(trace.dir, max_bytes=trace.max_bytes, bodies=trace.bodies, redact=logs.redact)
