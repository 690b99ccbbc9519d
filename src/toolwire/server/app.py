"""The application: assembles the rooms from the configuration, and takes each request to its
surface, through the same gate and with the same last net."""

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeAlias

import msgspec

from toolwire.backends.base import Patience
from toolwire.backends.completions import CompletionsBackend
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.embedded import EmbeddedBackend
from toolwire.backends.embedded_engine import Engine
from toolwire.backends.http import HttpPool, Origin
from toolwire.backends.openai_http import OpenAiHttpBackend, RawHttpAnswer
from toolwire.backends.pool import BackendPool
from toolwire.errors import (
    GatewayError,
    InternalError,
    MethodNotAllowed,
    NotFound,
    Overloaded,
    RequestError,
    TooLarge,
    Unauthorized,
)
from toolwire.gateway.plan import Mending
from toolwire.gateway.repair import EVERY_RULE
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.run import Pace, Report
from toolwire.gateway.ways import Ways
from toolwire.protocol.openai import RequestReader
from toolwire.protocol.schema import SchemaLimits
from toolwire.protocol.toolset import ToolReader
from toolwire.server.auth import Keyring, bearer
from toolwire.server.config_values import EMBEDDED
from toolwire.server.logs import Logs
from toolwire.server.metrics import Metrics
from toolwire.server.random_ids import new_id
from toolwire.server.settings import BackendConfig, Config, Route
from toolwire.server.trace_store import TraceStore
from toolwire.surfaces.errors import error_body, error_headers
from toolwire.surfaces.exchange import Exchange, HttpRequest, Visit
from toolwire.surfaces.models import Models
from toolwire.surfaces.openai_chat import OpenAiChat
from toolwire.surfaces.passthrough import Passthrough

Handler: TypeAlias = Callable[[Exchange, Visit], Awaitable[None]]

_log = logging.getLogger("toolwire.server")
_MODEL_PATH = re.compile(r"/v1/models/.+")
_MOST_ADMITTED = 1024
"""Authorization headers that are known to be good. They are found by hashes with a random key, so
the time that takes tells nothing about a header that is not among them."""


class App:
    """Everything one process serves."""

    def __init__(
        self,
        config: Config,
        logs: Logs,
        *,
        clock: Callable[[], float],
        engine: Engine | None = None,
    ) -> None:
        self.metrics = Metrics([route.name for route in config.models])
        self.draining = False
        self._logs = logs
        self._clock = clock
        self._keys = Keyring(config.keys)
        self._admitted: dict[bytes, str] = {}
        self._engine = engine
        self._pools: list[HttpPool] = []
        self._backends: dict[int, OpenAiHttpBackend | EmbeddedBackend] = {}
        self._traces = _trace_store(config, logs)
        self.routes = Routes([self._served(route, config) for route in config.models])
        chat = OpenAiChat(
            reader=_reader(config),
            routes=self.routes,
            pace=_pace(config),
            repair_history=config.history == "repair",
            new_id=new_id,
            now=time.time,
            mending=_mending(config),
            keep=self._traces.keep if self._traces is not None else None,
        )
        models = Models(self.routes, int(time.time()), self._fetch_models)
        self._table: dict[str, dict[str, Handler]] = {
            "/v1/chat/completions": {"POST": chat.answer},
            "/v1/models": {"GET": models.list},
            "/metrics": {"GET": self._metrics},
            "/healthz": {"GET": self._health},
            "/readyz": {"GET": self._ready},
        }
        self._open = frozenset({"/healthz", "/readyz"})
        self._show_model: dict[str, Handler] = {"GET": models.show}
        self._passthrough = Passthrough(self.routes, self._forward) if config.passthrough else None

    async def __call__(self, exchange: Exchange) -> None:
        """Answer one request, whatever happens."""
        visit = Visit(new_id("req_"))
        started = self._clock()
        self.metrics.in_flight.inc()
        try:
            await self._serve(exchange, visit)
        except GatewayError as error:
            visit.error = error.code
            self._fail(exchange, visit, error)
        except Exception:  # noqa: BLE001 - the last net
            _log.exception("request %s failed", visit.request_id)
            visit.error = InternalError.code
            text = f"Toolwire failed. The log has the details under {visit.request_id}."
            self._fail(exchange, visit, InternalError(text))
        finally:
            self.metrics.in_flight.dec()
            self._account(exchange, visit, started)

    def admits(self, request: HttpRequest) -> bool:
        """Whether a request's body is worth reading: not if its head gets it refused anyway."""
        try:
            self._admit(request)
            self._handler(request.method, request.path)
        except GatewayError:
            return False
        return True

    def refuse(self, exchange: Exchange, status: int) -> None:
        """Answer what is not a request at all."""
        error = _REFUSALS.get(status, RequestError("The request is not valid HTTP/1.1."))
        exchange.respond(status, error_headers(error), error_body(error))

    def aclose(self) -> None:
        """Drop idle connections to backends, and write the last traces."""
        for pool in self._pools:
            pool.close()
        for backend in self._backends.values():
            if isinstance(backend, CompletionsBackend):
                backend.close()
        if self._traces is not None:
            self._traces.close()

    def backends(self) -> list[OpenAiHttpBackend | EmbeddedBackend]:
        """Every backend of every model."""
        return list(self._backends.values())

    async def _serve(self, exchange: Exchange, visit: Visit) -> None:
        request = exchange.request
        visit.key_name = self._admit(request)
        await self._handler(request.method, request.path)(exchange, visit)

    def _admit(self, request: HttpRequest) -> str | None:
        """The name of the request's key, if it needs one."""
        if self._keys.open or request.path in self._open:
            return None
        given = request.headers.get(b"authorization", b"")
        name = self._admitted.get(given)
        if name is None:
            name = self._admitted[given] = self._check(given)
        return name

    def _check(self, given: bytes) -> str:
        """The name of the key that is given for the first time."""
        name = self._keys.check(given)
        if name is None:
            raise Unauthorized(_KEY_WRONG if given else _KEY_MISSING)
        self._logs.see((bearer(given) or b"").decode("ascii"))
        if len(self._admitted) >= _MOST_ADMITTED:
            self._admitted.clear()
        return name

    def _handler(self, method: str, path: str) -> Handler:
        methods = self._table.get(path)
        if methods is None and _MODEL_PATH.fullmatch(path):
            methods = self._show_model
        if methods is None:
            if self._passthrough is not None and path.startswith("/v1/"):
                return self._passthrough.answer
            raise NotFound(f"There is nothing at '{path[:200]}'. The API is under /v1.")
        # What can be read can be asked for without its body, as some that watch over servers do.
        handler = methods.get("GET" if method == "HEAD" else method)
        if handler is None:
            raise MethodNotAllowed(
                f"'{path}' takes {' or '.join(methods)}, but the request was {method}.",
                allowed=methods,
            )
        return handler

    def _fail(self, exchange: Exchange, visit: Visit, error: GatewayError) -> None:
        if exchange.started:
            exchange.abort()
        else:
            headers = [*visit.headers(), *error_headers(error)]
            exchange.respond(error.status, headers, error_body(error))

    def _account(self, exchange: Exchange, visit: Visit, started: float) -> None:
        seconds = self._clock() - started
        request = exchange.request
        status = 499 if exchange.gone and not exchange.sent else exchange.status
        metrics = self.metrics
        metrics.request_done(visit.route, status, visit.stream, seconds)
        if visit.error is not None and visit.backend:
            metrics.backend_error(visit.error)
        if visit.report is not None:
            self._count(visit.report)
        if visit.usage is not None:
            metrics.tokens(visit.usage.prompt_tokens, visit.usage.completion_tokens)
        if exchange.gone:
            metrics.client_gone("streaming" if exchange.started else "waiting")
        self._logs.access(
            visit.request_id,
            request.method,
            request.path,
            status,
            model=visit.model,
            backend=visit.backend or None,
            mode=visit.way or None,
            key_name=visit.key_name,
            duration_ms=seconds * 1000,
            stream=visit.stream,
            sent=exchange.sent,
        )

    def _count(self, report: Report) -> None:
        metrics = self.metrics
        metrics.calls(report.calls)
        if report.first_token_after is not None:
            metrics.first_token(report.first_token_after)
        for reason in report.retries:
            metrics.retried(reason)
        for rule in report.repairs:
            metrics.repaired(rule.partition(":")[0])
        for finding in report.findings:
            metrics.unfit(finding.code)

    # The small surfaces.

    async def _health(self, exchange: Exchange, visit: Visit) -> None:
        exchange.respond(200, [*visit.headers(), _JSON], b'{"status":"ok"}')

    async def _ready(self, exchange: Exchange, visit: Visit) -> None:
        status, word = (503, "draining") if self.draining else (200, "ready")
        body = msgspec.json.encode({"status": word})
        exchange.respond(status, [*visit.headers(), _JSON], body)

    async def _metrics(self, exchange: Exchange, visit: Visit) -> None:
        kind = ("content-type", "text/plain; version=0.0.4; charset=utf-8")
        # The first time, this loads prometheus_client: not in the loop.
        text = await asyncio.to_thread(self.metrics.render)
        exchange.respond(200, [*visit.headers(), kind], text)

    # Assembling.

    def _served(self, route: Route, config: Config) -> ServedModel:
        backends = [self._backend(backend, config) for backend in route.backends]
        pool = BackendPool(backends, self._clock)
        custom = any(backend.custom_tools for backend in route.backends)
        ways = Ways(route.mode, route.format, self._examples(route), self._clock)
        return ServedModel(route.name, pool, custom_tools=custom, ways=ways)

    def _examples(self, route: Route) -> int:
        if route.examples is not None:
            return route.examples
        embedded = any(backend.url == EMBEDDED for backend in route.backends)
        return self._engine.habits.examples if embedded and self._engine is not None else 0

    def _backend(self, config: BackendConfig, whole: Config) -> OpenAiHttpBackend | EmbeddedBackend:
        timeouts = config.timeouts or whole.timeouts
        patience = Patience(timeouts.first_token, timeouts.idle)
        backend: OpenAiHttpBackend | EmbeddedBackend
        if config.url == EMBEDDED and self._engine is not None:
            backend = EmbeddedBackend(config.name, self._engine, patience)
        else:
            pool = HttpPool(Origin.of(config.url), connect_timeout=timeouts.connect)
            self._pools.append(pool)
            backend = self._http_backend(config, whole, pool, patience)
        self._backends[id(backend)] = backend
        return backend

    def _http_backend(
        self, config: BackendConfig, whole: Config, pool: HttpPool, patience: Patience
    ) -> OpenAiHttpBackend:
        dialect = DIALECTS[config.dialect].with_params(config.params_add, config.params_remove)
        if config.call_ids is not None:
            dialect = replace(dialect, call_ids=config.call_ids)
        if config.constraint is not None:
            dialect = replace(dialect, constraint=config.constraint)
        headers = dict(config.headers)
        if config.key is not None:
            headers["authorization"] = f"Bearer {config.key.reveal()}"
        options: dict[str, Any] = {
            "model": config.model,
            "headers": headers,
            "max_line": whole.limits.sse_line_bytes,
            "patience": patience,
            "redact": self._logs.redact,
        }
        if config.chat_template is None:
            return OpenAiHttpBackend(config.name, pool, dialect, **options)
        return CompletionsBackend(config.name, pool, dialect, config.chat_template, **options)

    async def _fetch_models(self) -> list[str]:
        model = self.routes.any
        if model is None:
            return []
        member = model.pool.pick()
        return await self._backends[id(member.backend)].models()

    async def _forward(
        self, model: ServedModel, method: str, target: str, kind: str, body: bytes
    ) -> RawHttpAnswer:
        backend = self._backends[id(model.pool.pick().backend)]
        return await backend.forward(method, target, kind, body)


_JSON = ("content-type", "application/json")
_KEY_MISSING = (
    "You didn't provide an API key. Send it in an Authorization header: "
    "'Authorization: Bearer YOUR_KEY'."
)
_KEY_WRONG = "Incorrect API key provided. Check the key, or ask whoever runs this server for one."
_REFUSALS: dict[int, GatewayError] = {
    408: RequestError("The request was not complete in time.", code="request_timeout"),
    413: TooLarge("The request body is larger than this server takes (limits.body_bytes)."),
    431: RequestError("The request's headers are too large or too many.", code="headers_too_large"),
    417: RequestError(
        "The only expectation that is met is '100-continue'.", code="expectation_failed"
    ),
    501: RequestError(
        "The only transfer coding that is understood is 'chunked'.", code="unsupported_coding"
    ),
    503: Overloaded(
        "Too many connections, or too much in requests, at once (connections and bodies_bytes in "
        "[limits]). Try again later."
    ),
}


def _reader(config: Config) -> RequestReader:
    limits = config.limits
    schema_limits = SchemaLimits(
        limits.depth, limits.strict_properties, limits.strict_depth, limits.tool_bytes
    )
    tools = ToolReader(
        max_tools=limits.tools, cache_bytes=limits.schema_cache_bytes, schema_limits=schema_limits
    )
    return RequestReader(
        tools,
        limits.messages,
        strict_parallel=config.strict_parallel == "validate",
        max_values=limits.values,
    )


def _pace(config: Config) -> Pace:
    times, retries = config.timeouts, config.retries
    return Pace(
        total=times.total,
        keepalive=times.keepalive,
        attempts=retries.attempts + 1,
        backoff=retries.backoff,
        max_retry_after=retries.max_retry_after,
        asks=config.repair.ask_again,
    )


def _trace_store(config: Config, logs: Logs) -> TraceStore | None:
    trace = config.trace
    if trace.dir is None:
        return None
    return TraceStore(trace.dir, max_bytes=trace.max_bytes, bodies=trace.bodies, redact=logs.redact)


def _mending(config: Config) -> Mending:
    repair = config.repair
    return Mending(
        EVERY_RULE.without(repair.off),
        whole_streams=repair.streams == "whole",
        loop_after=repair.loop_after,
    )
