"""The application: routes each request to its surface, with the same checks and the same handling
of errors for all."""

import logging
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, TypeAlias

from toolwire.errors import (
    GatewayError,
    InternalError,
    MethodNotAllowed,
    NoWebSocket,
    Overloaded,
    RequestError,
    ResourceNotFound,
    TooLarge,
)
from toolwire.gateway.context import RequestContext
from toolwire.server.access.gate import Gate
from toolwire.server.access.web_guard import is_preflight, preflight_headers
from toolwire.server.apis.table import OPEN, build_router
from toolwire.server.assembly import turn_limits
from toolwire.server.config.settings import Config
from toolwire.server.health.endpoints import HealthEndpoints
from toolwire.server.health.readiness import Readiness
from toolwire.server.process.random_ids import new_id
from toolwire.server.router import Handler
from toolwire.server.services import Services
from toolwire.server.telemetry.accounting import Accounting
from toolwire.server.telemetry.logs import Logs
from toolwire.surfaces.exchange import Exchange, HttpRequest
from toolwire.surfaces.passing.endpoints import AllowList
from toolwire.surfaces.passing.passthrough import Passthrough

if TYPE_CHECKING:
    from toolwire.backends.embedded.engine import EmbeddedEngine

_log = logging.getLogger("toolwire.server")


_Ticket: TypeAlias = tuple[str, str | None, Handler]
"""What is known of a request whose head was accepted: the web page and the name of the key that
sent it, and what answers it."""


class App:
    """Everything one process serves."""

    def __init__(
        self,
        config: Config,
        logs: Logs,
        *,
        clock: Callable[[], float],
        engine: "EmbeddedEngine | None" = None,
    ) -> None:
        services = self.services = Services(config, logs, clock, engine)
        self.gate = Gate(config, logs, services.metrics)
        readiness = Readiness(
            services.sessions,
            store_required=config.sessions.required,
            backends=services.watch if config.health.ready == "backend" else None,
        )
        health = HealthEndpoints(readiness, self.gate, services.metrics)
        self._probes = health.probes
        self._router = build_router(config, services, health)
        self._allowed = AllowList(config.passthrough)
        passthrough = Passthrough(
            services.routes,
            turn_limits(config),
            new_id,
            max_values=config.limits.values,
            observer=services.watch,
        )
        self._pass_on: Handler = passthrough.answer
        self._accounting = Accounting(services.metrics, logs)
        self._in_flight = services.metrics.in_flight
        self._refused = services.metrics.refused
        self._clock = clock

    async def __call__(self, exchange: Exchange) -> None:
        """Answer one request, whatever happens."""
        context = RequestContext(new_id("req_"))
        started = self._clock()
        self._in_flight.value += 1
        try:
            handler = self._enter(exchange, context)
            if handler is not None:
                await handler(exchange, context)
        except GatewayError as error:
            context.error = error.code
            self._fail(exchange, context, error)
        except Exception:  # noqa: BLE001 - the last resort
            _log.exception("request %s failed", context.request_id)
            context.error = InternalError.code
            text = f"Toolwire failed. The log has the details under {context.request_id}."
            self._fail(exchange, context, InternalError(text))
        finally:
            self._in_flight.value -= 1
            self._accounting.add(exchange, context, self._clock() - started)

    def probe(self, exchange: Exchange) -> bool:
        """Answer a health probe immediately; False if the request is not one."""
        say = self._probes.get(exchange.request.target)
        if say is None or exchange.request.method != "GET":
            return False
        started, context = self._clock(), RequestContext(new_id("req_"))
        say(exchange, context)
        self._accounting.add(exchange, context, self._clock() - started)
        return True

    def admits(self, request: HttpRequest) -> bool:
        """Whether to read a request's body: not if its head is refused anyway."""
        path, headers, gate = request.path, request.headers, self.gate
        try:
            if path in OPEN:
                self._handler(request, path)
            else:
                page, key_name = gate.origin(headers), gate.key_name(headers)
                gate.check_room()
                request.ticket = page, key_name, self._handler(request, path)
        except GatewayError:
            return False
        return True

    def refuse(self, exchange: Exchange, status: int) -> None:
        """Refuse invalid HTTP, or a request beyond the limits."""
        self._refused(str(status))
        error = copy(_REFUSALS.get(status, _INVALID))
        error.status = status
        self._fail(exchange, RequestContext(new_id("req_")), error)

    async def aclose(self) -> None:
        """See `Services.aclose`."""
        await self.services.aclose()

    def _enter(self, exchange: Exchange, context: RequestContext) -> Handler | None:
        """Return what answers a request; None if that was done here. Raises `GatewayError`."""
        request = exchange.request
        if request.ticket is not None:
            ticket: _Ticket = request.ticket
            context.page, context.key_name, handler = ticket
            self.gate.check_room()
            return handler
        path = request.path
        if path not in OPEN:
            context.page = self.gate.origin(request.headers)
            if context.page and is_preflight(request.method, request.headers):
                allowed = preflight_headers(request.headers)
                exchange.respond(204, [*context.headers(), *allowed], b"")
                return None
            context.key_name = self.gate.key_name(request.headers)
            self.gate.check_room()
        return self._handler(request, path)

    def _handler(self, request: HttpRequest, path: str) -> Handler:
        method = request.method
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
            socket = b"sec-websocket-key" in request.headers
            wanted = "for a WebSocket" if socket else method
            raise (NoWebSocket if socket else MethodNotAllowed)(
                f"'{path}' takes {' or '.join(methods)}, but the request was {wanted}.",
                allowed=methods,
            )
        return handler

    def _fail(self, exchange: Exchange, context: RequestContext, error: GatewayError) -> None:
        if exchange.started:
            exchange.abort()
        else:
            error.request_id = context.request_id
            api = self._router.api(exchange.request)
            headers, body = api.writer.error(error)
            status = api.statuses.get(error.status, error.status)
            exchange.respond(status, [*context.headers(), *headers], body)


_ABOUT_PATHS = "/docs lists the endpoints; 'passthrough' sets which others are passed on."
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
