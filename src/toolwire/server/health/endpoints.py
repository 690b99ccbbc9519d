"""`/healthz`, `/readyz` and `/metrics`: what monitors ask for."""

import asyncio
from collections.abc import Callable

import msgspec

from toolwire.gateway.context import RequestContext
from toolwire.server.access.gate import Gate
from toolwire.server.health.readiness import Readiness
from toolwire.server.telemetry.metrics import Metrics
from toolwire.surfaces.exchange import JSON, Exchange


class HealthEndpoints:
    """The endpoints. `probes` are those that are answered immediately, by their path."""

    def __init__(self, readiness: Readiness, gate: Gate, metrics: Metrics) -> None:
        self._readiness = readiness
        self._gate = gate
        self._metrics = metrics
        self.probes: dict[bytes, Callable[[Exchange, RequestContext], None]] = {
            b"/healthz": self._say_alive,
            b"/readyz": self._say_ready,
        }

    async def health(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer that the process is alive."""
        self._say_alive(exchange, context)

    async def ready(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer whether new requests should be sent here."""
        self._say_ready(exchange, context)

    async def metrics(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer with the metrics, for Prometheus."""
        kind = ("content-type", "text/plain; version=0.0.4; charset=utf-8")
        # In a thread, because the first call imports prometheus_client.
        text = await asyncio.to_thread(self._metrics.render)
        exchange.respond(200, [*context.headers(), kind], text)

    def _say_alive(self, exchange: Exchange, context: RequestContext) -> None:
        exchange.respond(200, [*context.headers(), JSON], b'{"status":"ok"}')

    def _say_ready(self, exchange: Exchange, context: RequestContext) -> None:
        status, body = self._readiness.status(draining=self._gate.draining)
        exchange.respond(status, [*context.headers(), JSON], msgspec.json.encode(body))
