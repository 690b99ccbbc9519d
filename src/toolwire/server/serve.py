"""Runs the server: listen, announce it, serve until a signal, shut down in order."""

import asyncio
import gc
import logging
import signal
import ssl
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from toolwire.gateway.routes import ServedModel
from toolwire.later import Later
from toolwire.server.app import App
from toolwire.server.assembly import request_reader
from toolwire.server.config.settings import Config
from toolwire.server.health.prober import Prober
from toolwire.server.http.limits import HttpLimits
from toolwire.server.http.server import HttpServer
from toolwire.server.process.event_loop import on_signals
from toolwire.server.process.memory import use_one_arena
from toolwire.server.process.open_files import raise_open_files
from toolwire.server.telemetry.logs import Logs
from toolwire.surfaces.openai.reader import RequestReader

if TYPE_CHECKING:
    from toolwire.backends.embedded.engine import EmbeddedEngine

_log = logging.getLogger("toolwire.server")
_ENDS = (signal.SIGINT, signal.SIGTERM)
_WARM_UP: Later[Callable[[Iterable[ServedModel], RequestReader], Coroutine[Any, Any, None]]] = (
    Later("toolwire.server.health.warm_up", "warm_up")
)


async def serve(
    config: Config,
    logs: Logs,
    announce: Callable[[str], None],
    engine: "EmbeddedEngine | None" = None,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until SIGINT or SIGTERM. `announce` receives the base URL once the server listens, and
    `say` a description of each backend."""
    loop = asyncio.get_running_loop()
    use_one_arena()
    # Imported modules live as long as the process, so exclude them from garbage collection.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    app = App(config, logs, clock=time.perf_counter, engine=engine)
    server = HttpServer(
        app,
        _limits(config),
        probe=app.probe,
        admits=app.admits,
        refuse=app.refuse,
        defect=lambda error: _log.error("a connection failed", exc_info=error),
    )
    raise_open_files(config.limits.connections + config.limits.requests)
    listen = config.listen
    tls = None
    if listen.tls_cert is not None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(listen.tls_cert, listen.tls_key)
    port = await server.open(listen.host, listen.port, tls=tls)
    stopped = asyncio.Event()
    on_signals(_ENDS, stopped.set)
    host = f"[{listen.host}]" if ":" in listen.host else listen.host
    announce(f"{'https' if tls else 'http'}://{host}:{port}")
    beside = [asyncio.create_task(Prober(app.services, config, say).run())]
    if engine is not None and config.embedded.warm_up:
        beside.append(
            asyncio.create_task(_WARM_UP()(app.services.routes.models, request_reader(config)))
        )
    await stopped.wait()
    for task in beside:
        task.cancel()
    on_signals(_ENDS, loop.stop)  # a second signal stops immediately
    app.gate.draining = True
    _log.info("shutting down; answers in progress have %g s", config.timeouts.shutdown)
    await server.aclose(config.timeouts.shutdown)
    await app.aclose()


def _limits(config: Config) -> HttpLimits:
    limits, times = config.limits, config.timeouts
    return HttpLimits(
        header_bytes=limits.header_bytes,
        headers=limits.headers,
        body_bytes=limits.body_bytes,
        bodies_bytes=limits.bodies_bytes,
        connections=limits.connections,
        header_seconds=times.header,
        body_seconds=times.body,
        write_seconds=times.write,
        idle_seconds=times.idle_connection,
        queue_seconds=times.queue,
    )
