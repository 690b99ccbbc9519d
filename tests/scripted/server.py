"""The server: accepts connections and plays the stage, in the test's own loop or in a thread."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from tests.scripted.http import CutError, PeerGoneError, Wire
from tests.scripted.record import Recorded
from tests.scripted.routes import answer_request
from tests.scripted.stage import Stage


class ScriptedServer:
    """A scripted backend. `async with` runs it in the current loop, `with` in a thread."""

    def __init__(
        self,
        variant: str = "std",
        script: Any = "file_task",
        *,
        key: str | None = None,
        port: int = 0,
    ) -> None:
        self._stage = Stage(variant, script, key)
        self._wanted_port = port
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """The base URL for an OpenAI client."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def requests(self) -> list[Recorded]:
        """What has come in since the variant was set, oldest first."""
        return self._stage.requests

    def use(self, variant: str = "std", script: Any = "file_task") -> None:
        """Switch to another variant and script and start a new record."""
        self._stage.set(variant, script)

    def wait_for(self, condition: Callable[[], object], seconds: float = 5.0) -> None:
        """Block until the condition holds; in the server's own loop call it with `to_thread`."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"condition did not hold within {seconds} s")
            time.sleep(0.002)

    async def open(self) -> None:
        """Start to listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._wanted_port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def aclose(self) -> None:
        """Stop to listen and drop every connection."""
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        started: Future[None] = Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(started)))
        self._thread.start()
        started.result(timeout=10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout=10)

    async def _run(self, started: "Future[None]") -> None:
        self._loop = asyncio.get_running_loop()
        try:
            await self.open()
        except OSError as error:
            started.set_exception(error)
            return
        started.set_result(None)
        await self._stop.wait()
        await self.aclose()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        wire = Wire(reader, writer)
        try:
            while await self._exchange(wire):
                continue
        except (asyncio.CancelledError, ConnectionError):
            wire.abort()
        finally:
            self._tasks.discard(task)
            await wire.close()

    async def _exchange(self, wire: Wire) -> bool:
        """Play one request; tells whether the connection lives on."""
        request = await wire.read_request()
        reply = answer_request(self._stage, request)
        try:
            await wire.send(reply)
        except CutError:
            return False
        except ConnectionError:
            request.closed_at = wire.gone_at or time.monotonic()
            raise PeerGoneError from None
        request.finished_at = time.monotonic()
        return not (reply.closes or request.headers.get("connection", "").lower() == "close")
