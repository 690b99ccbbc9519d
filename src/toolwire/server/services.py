"""What all requests of a process share, built from the configuration."""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from toolwire.backends.base import Backend
from toolwire.errors import UpstreamError
from toolwire.gateway.trace.records import TraceSwitch
from toolwire.gateway.turn import TurnService
from toolwire.server.assembly import build_routes, repair_policy, turn_limits
from toolwire.server.config.settings import Config
from toolwire.server.health.backend_watch import BackendWatch
from toolwire.server.process.check_process import CheckProcess
from toolwire.server.process.random_ids import new_id
from toolwire.server.telemetry.logs import Logs
from toolwire.server.telemetry.metrics import Metrics
from toolwire.server.telemetry.trace_memory import MemoryTraces
from toolwire.server.telemetry.trace_store import TraceStore
from toolwire.sessions.open import open_store

if TYPE_CHECKING:
    from toolwire.backends.embedded.engine import EmbeddedEngine


class Services:
    """The models, the session store, metrics, traces, and the turns that use them."""

    def __init__(
        self,
        config: Config,
        logs: Logs,
        clock: Callable[[], float],
        engine: "EmbeddedEngine | None",
    ) -> None:
        backends = {backend.name for route in config.models for backend in route.backends}
        self.metrics = Metrics([route.name for route in config.models], backends)
        self.watch = BackendWatch(backends, self.metrics, clock)
        self.sessions = self.metrics.sessions = open_store(config.sessions.store)
        self.traces = _trace_store(config, logs)
        self.checker = CheckProcess()
        self.routes = build_routes(config, engine, clock, logs.redact, self.watch)
        self.turns = TurnService(
            routes=self.routes,
            limits=turn_limits(config),
            repair_history=config.history == "repair",
            new_call_id=partial(new_id, "call_"),
            now=time.time,
            repair_policy=repair_policy(config),
            checker=self.checker,
            keep=self.traces.keep if self.traces is not None else None,
            observer=self.watch,
            tracing=self.traces.tracing if self.traces is not None else TraceSwitch(on=False),
        )

    def backends(self) -> list[Backend]:
        """Every backend of every model."""
        return [backend for model in self.routes.models for backend in model.pool.backends]

    async def fetch_models(self) -> list[str]:
        """Return the models of a server whose models are all served. Raises `UpstreamError`."""
        model = self.routes.any
        if model is None:
            return []
        backend = model.pool.pick().backend
        try:
            return await backend.models()
        except UpstreamError as error:
            self.watch.probed(backend.name, error)
            raise

    async def aclose(self) -> None:
        """Drop connections to backends and stores, end processes, and write the last traces."""
        self.checker.close()
        if self.sessions is not None:
            await self.sessions.aclose()
        for backend in self.backends():
            await backend.aclose()
        if self.traces is not None:
            self.traces.close()


def _trace_store(config: Config, logs: Logs) -> TraceStore | MemoryTraces | None:
    trace = config.trace
    if trace.dir is None:
        inspected = config.has_inspector
        return MemoryTraces(bodies=trace.bodies, redact=logs.redact) if inspected else None
    return TraceStore(trace.dir, max_bytes=trace.max_bytes, bodies=trace.bodies, redact=logs.redact)
