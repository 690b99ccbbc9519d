"""A Toolwire in a thread, on a port of loopback that nobody else knows, for as long as a block."""

import asyncio
import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from toolwire.server.app import App
from toolwire.server.config.settings import Config
from toolwire.server.http.limits import HttpLimits
from toolwire.server.http.server import HttpServer
from toolwire.server.telemetry.logs import setup


@contextmanager
def local_gateway(config: Config) -> Iterator[str]:
    """Serve this configuration; the base URL for an OpenAI client."""
    gateway = _Gateway(config)
    gateway.start()
    try:
        yield f"http://127.0.0.1:{gateway.wait()}/v1"
    finally:
        gateway.stop()


class _Gateway(threading.Thread):
    def __init__(self, config: Config) -> None:
        super().__init__(name="toolwire-doctor", daemon=True)
        self._config = config
        self._port = 0
        self._error: BaseException | None = None
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as error:
            self._error = error
        finally:
            self._ready.set()

    def wait(self) -> int:
        """The port, once it is open. Raises `OSError`."""
        self._ready.wait()
        if self._error is not None:
            raise self._error
        return self._port

    def stop(self) -> None:
        """Close it, and wait until it is closed."""
        if self._loop is not None and self._stopped is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
        self.join()

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        app = App(self._config, setup("error", stream=io.StringIO()), clock=time.perf_counter)
        server = HttpServer(
            app,
            HttpLimits(),
            probe=app.probe,
            admits=app.admits,
            refuse=app.refuse,
            defect=lambda _error: None,
        )
        self._port = await server.open("127.0.0.1", 0)
        self._ready.set()
        await self._stopped.wait()
        await server.aclose(1.0)
        await app.aclose()
