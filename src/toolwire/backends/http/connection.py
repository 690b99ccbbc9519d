"""One HTTP/1.1 connection to a backend: an asyncio protocol around llhttp (httptools)."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import httptools
import msgspec

from toolwire.backends.loop_budget import LoopBudget
from toolwire.errors import UpstreamError, UpstreamUnavailable

_MAX_HEAD = 64 * 1024
_LATE_BLOCK = 4096
"""Bytes per read late in a long loop iteration. They are queued for a later one."""


class Head(msgspec.Struct):
    """The status and headers of a response."""

    status: int = 0
    headers: dict[bytes, bytes] = {}


class Connection(asyncio.BufferedProtocol):
    """One connection, which handles one response at a time.

    Connections of one event loop can share a `buffer`, because each read is used immediately.
    """

    def __init__(self, buffer: bytearray, budget: LoopBudget | None = None) -> None:
        self.used = False
        self._buffer = memoryview(buffer)
        self._budget = budget or LoopBudget()
        self._is_late = False
        self._late = b""
        self.head = Head()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._held = False
        self._parser: Any = httptools.HttpResponseParser(self)
        self._fresh()

    def _fresh(self) -> None:
        """Expect a new response. The parser does so by itself at the end of one."""
        self.head = Head()
        self._head_size = self._unread = 0
        self._started = False
        self._complete = False
        self._keep_alive = self._surplus = False
        self._enough = False
        self._drained: Callable[[], None] | None = None
        self._body: list[bytes] = []
        self._listener: Callable[[bytes], None] | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._budget.connections += 1

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        late = self._is_late = self._budget.spent
        return self._buffer[:_LATE_BLOCK] if late else self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._is_late:
            self._late += self._buffer[:nbytes]
            self._hold()
            self._budget.defer(self._process_late)
            return
        self._read(self._buffer[:nbytes])
        if nbytes == len(self._buffer):
            # Yield: libuv reads up to 32 full blocks before it polls another socket.
            self._hold()
            self._loop.call_soon(self._read_on)

    def _process_late(self) -> None:
        """Process data from an earlier loop iteration, and resume reading."""
        late, self._late = self._late, b""
        if late:
            self._read(late)
        self._read_on()

    def _read(self, data: bytes | memoryview) -> None:
        if self._complete:
            self.abort()  # the response to no request
            return
        if not self._started:
            # The parser does not report an unfinished header, so bytes are counted, too.
            self._unread += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(UpstreamError(f"The backend does not speak HTTP: {error}."))
            return
        if not self._started and self._unread > 4 * _MAX_HEAD:
            self._fail(UpstreamError("The backend's answer has too many headers."))
            return
        self._deliver()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._budget.connections -= 1
        self._process_late()
        # The parser references our methods: without this, only the garbage collector frees us.
        self._parser = None
        if self._complete:
            return
        if self._started and exc is None and self._until_close():
            self._complete = True
            self._deliver()
        else:
            error = UpstreamUnavailable("The backend closed the connection.")
            error.disconnected = self._started
            self._fail(error)

    # Called by the parser.

    def on_message_begin(self) -> None:
        if self._complete:
            self._surplus = True

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        if self._head_size > _MAX_HEAD:
            self._fail(UpstreamError("The backend's answer has too many headers."))
            return
        self.head.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self.head.status = status
            self._started = True

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        if self._started:
            self._complete = True
            # Ask the parser now: it resets once the next message may start.
            self._keep_alive = bool(self._parser.should_keep_alive())
        else:
            self.head.headers.clear()  # 1xx: the final response is still to come

    # Called by us.

    async def request(self, head: bytes, body: Sequence[bytes]) -> Head:
        """Send a request, and wait for the head of its response."""
        if self._transport is None:
            raise UpstreamUnavailable("The backend closed the connection.")
        if self.used:
            self._fresh()
        self.used = True
        self._transport.writelines((head, *body))
        try:
            while not self._started:
                await self._news()
        finally:
            self._waiter = None  # a cancelled future references every frame of the turn
        if self._error is not None:
            self._raise_error()
        return self.head

    async def relay(self, listener: Callable[[bytes], None]) -> None:
        """Pass the body to `listener` as it arrives, until its end or a call of `enough`."""
        self._listener = listener
        try:
            self._deliver()
            while not (self._complete or self._enough):
                await self._news()
        finally:
            self._listener = self._waiter = None  # drop the references to the turn
        if self._error is not None:
            self._raise_error()

    def enough(self) -> None:
        """Discard the rest of the body."""
        self._enough = True

    def drain(self, seconds: float, drained: Callable[[], None]) -> None:
        """Discard the rest of a response. Call `drained` at its end, or drop the connection."""
        self._listener = lambda _block: None
        self._drained = drained
        self._loop.call_later(seconds, self._end_drain)

    def _end_drain(self) -> None:
        if self._drained is not None:
            self.abort()

    def pause(self) -> None:
        """Stop reading."""
        self._paused = True
        self._hold()

    def resume(self) -> None:
        """Resume reading."""
        self._paused = False
        if self._held:
            self._read_on()

    def _hold(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()
            self._held = True

    def _read_on(self) -> None:
        if self._late or self._paused or not self._held:
            return
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
            self._held = False

    @property
    def reusable(self) -> bool:
        """Whether another request may follow on this connection."""
        return (
            self._transport is not None
            and not self._transport.is_closing()
            and self._complete
            and self._error is None
            and self._keep_alive
            and not self._surplus
        )

    @property
    def almost_complete(self) -> bool:
        """Whether the listener had enough, but the response has not ended."""
        return self._enough and not self._complete and self.alive and self._drained is None

    @property
    def alive(self) -> bool:
        """Whether the peer has kept the connection open while it was idle."""
        return self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        """Drop the connection now."""
        if self._transport is not None:
            self._transport.abort()

    def _until_close(self) -> bool:
        headers = self.head.headers
        return b"content-length" not in headers and b"transfer-encoding" not in headers

    def _deliver(self) -> None:
        """Pass the data to the listener, and wake the waiter for the head or the end."""
        listener, body = self._listener, self._body
        if body and listener is not None and self._error is None:
            self._body = []
            try:
                listener(body[0] if len(body) == 1 else b"".join(body))
            except Exception as error:  # noqa: BLE001 - re-raised in the task that awaits the end
                self._fail(error)
                return
        if self._drained is not None and self._complete:
            drained, self._drained = self._drained, None
            drained()
        waiter = self._waiter
        if waiter is None:
            return
        if self._complete or self._enough or (self._started and listener is None):
            self._waiter = None
            if not waiter.done():
                waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self._complete = self._started = True
        self._deliver()
        self.abort()

    def _raise_error(self) -> None:
        """Raise and clear the stored error: a raised error references its frames."""
        error, self._error = self._error, None
        if error is None:
            return
        self._keep_alive = False
        try:
            raise error
        finally:
            del error

    def _news(self) -> "asyncio.Future[None]":
        """Return a future that is done at the head, the end, or an error."""
        self._waiter = self._loop.create_future()
        return self._waiter
