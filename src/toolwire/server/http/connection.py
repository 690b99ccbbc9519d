"""One client's connection: HTTP/1.1 by an asyncio protocol around llhttp (httptools).

A connection is in one of four states: waiting for a request, reading its head, reading its body, or
answering. Each state but the last has a deadline, which the server enforces. An answering
connection keeps listening: if the client disconnects, the task that answers is cancelled
immediately.

The head of a request is checked before its body is read, and the body of a refused request is
discarded as it arrives. Complete requests go to the `Pipeline`, which answers them. Pipelined
requests are read only a little way ahead; beyond that, those that were read are answered and the
connection is closed.

Once nothing more is to be read (`_closing`), further input is discarded before the connection is
closed: closing immediately would make the kernel reset it, and the client would lose its answer.
"""

import asyncio
from typing import TYPE_CHECKING, Any

import httptools

from toolwire.server.http.head import Refused, check_head, joined, wants_continue
from toolwire.server.http.incoming_body import IncomingBody
from toolwire.server.http.pipeline import Pipeline, Refusal
from toolwire.server.http.upgrade import head_without_upgrade
from toolwire.surfaces.exchange import HttpRequest

if TYPE_CHECKING:
    from toolwire.server.http.server import HttpServer

_LINGER = 3.0
_SLOWEST = 4096
"""The minimum upload rate, in bytes per second, that extends a client's deadline."""
_FRAMING = 1 << 20
"""Overhead allowed beside a body: chunk sizes, trailers, the head in the same block."""
_NO_REQUEST = HttpRequest()


class _Enough(Exception):
    """Stops the parser. Further input is not read."""


class ClientConnection(asyncio.BufferedProtocol):
    """One client's connection."""

    def __init__(self, server: "HttpServer") -> None:
        self.transport: asyncio.Transport | None = None
        self.paused = False
        self.deadline = 0.0
        self._server = server
        self._limits = server.limits
        self._parser: Any = httptools.HttpRequestParser(self)
        self._pipeline = Pipeline(self, server)
        self._request = _NO_REQUEST
        self._lines: list[tuple[bytes, bytes]] = []
        """The headers as they came, and trailers."""
        self._body = IncomingBody(server.bodies)
        self._most = 0
        self._head_size = 0
        self._most_head = 2 * self._limits.header_bytes
        self._fits = len(server.buffer) <= self._most_head
        """Whether the head of a request that arrived in one read cannot be too large."""
        self._fed = self._bare = 0
        self._body_deadline = 0.0
        self._new = False
        """Whether a request began in this read."""
        self._in_head = False
        self._in_body = False
        self._moved = False
        self._unwanted = False
        self._upgrade = False
        self._closing = False

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._expect(self._limits.header_seconds)
        self._pipeline.surplus = not self._server.came(self)
        if self._pipeline.surplus and self._server.full:
            self._refuse(503)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._server.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._read(self._server.buffer[:nbytes])

    def _read(self, data: bytes | memoryview) -> None:
        if self._closing:
            return
        rest: bytes | None = None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = bytes(data[upgrade.args[0] :])
        except httptools.HttpParserCallbackError as stopped:
            self._stopped(stopped.__context__)
        except httptools.HttpParserError:
            self._refuse(400)
        if rest is not None:
            self._decline_upgrade(rest)
        elif self._in_head:
            self._await_head(len(data))
        elif self._in_body:
            self._read_on(len(data))

    def _await_head(self, fed: int) -> None:
        """Decide whether to wait for the rest of an incomplete head."""
        if self._new:
            self._leave_idle()
            if not self.busy:
                self._expect(self._limits.header_seconds)
        # The parser does not report an unfinished header, so fed bytes are counted, too.
        self._head_size += fed
        if self._head_size > self._most_head:
            self._refuse(431)

    def _leave_idle(self) -> None:
        """A request has begun: the connection cannot be closed to make room any more."""
        self._new = False
        self._server.waiting.pop(self, None)

    def _read_on(self, fed: int) -> None:
        """Decide whether to wait for the rest of an incomplete body."""
        if self._new:
            self._leave_idle()
        if not self.busy:
            self._expect_more()
        # Only this counts bytes outside the body, such as an unfinished trailer.
        self._fed += fed
        self._bare = 0 if self._moved else self._bare + fed
        self._moved = False
        if self._unwanted:
            request = self._request
            request.keep_alive = False
            self._stop_reading()
            self._accept(request)
        elif self._bare > self._most_head or len(self._lines) > self._limits.headers:
            self._refuse(431)  # trailers count as headers
        elif self._fed > self._limits.body_bytes + _FRAMING:
            self._refuse(413)

    def _stopped(self, reason: BaseException | None) -> None:
        """Handle a parser that one of the callbacks below has stopped."""
        if isinstance(reason, Refused):
            self._refuse(reason.status)
        elif not isinstance(reason, _Enough):
            self._drop()
            raise RuntimeError("a callback of the HTTP parser failed") from reason

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.transport = None
        # The parser references our methods: drop it, or all of this outlives the connection.
        self._parser = None
        self._stop_reading()
        self._pipeline.lost()
        self._server.left(self)

    def pause_writing(self) -> None:
        self.paused = True
        self.expect_reader()
        if self._pipeline.exchange is not None:
            self._pipeline.exchange.flow(paused=True)

    def resume_writing(self) -> None:
        self.paused = False
        if self._pipeline.exchange is not None:
            self.deadline = 0.0
            self._pipeline.exchange.flow(paused=False)
        else:
            self._pipeline.go_on()

    # Called by the parser. Most requests arrive in one read, so deadlines are set only after a read
    # that leaves a request unfinished.

    def on_message_begin(self) -> None:
        self._request = HttpRequest()
        self._lines = []
        self._in_head = self._new = True
        self._head_size = 0

    def on_url(self, url: bytes) -> None:
        self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._lines.append((name, value))

    def on_headers_complete(self) -> None:
        request = self._request
        self._in_head = False
        self._in_body = True
        self._fed = self._bare = 0
        self._body_deadline = 0.0
        self._unwanted = False
        parser = self._parser
        request.method = parser.get_method().decode("latin-1")
        version = parser.get_http_version()
        if self._server.draining or not parser.should_keep_alive():
            request.keep_alive = False
        if version != "1.1":
            request.chunked_ok = False
        headers = self._headers(request)
        self._upgrade = parser.should_upgrade()
        if self._upgrade:
            return
        check_head(request, version)
        if b"content-length" in headers or b"transfer-encoding" in headers:
            self._before_body(request)

    def _headers(self, request: HttpRequest) -> dict[bytes, bytes]:
        """Collect the headers of a request. Repeated ones are joined with a comma."""
        lines = self._lines
        if len(lines) > self._limits.headers:
            raise Refused(431)
        if not (self._fits and self._new):
            size = sum(len(name) + len(value) for name, value in lines)
            if size > self._most_head:
                raise Refused(431)
        headers = request.headers = {name.lower(): value for name, value in lines}
        if len(headers) < len(lines):
            headers = request.headers = joined(lines)
        return headers

    def _before_body(self, request: HttpRequest) -> None:
        """Decide by the head whether to read the body."""
        if not self._server.admits(request):
            self._unwanted = True
            return
        length = int(request.headers.get(b"content-length", b"0"))
        if length > self._limits.body_bytes:
            raise Refused(413)
        self._most = self._pipeline.room(self._limits.body_bytes)
        waits = b"expect" in request.headers and wants_continue(request)
        if length > self._most or (waits and self._most < self._limits.body_bytes):
            self._close_after_queued()
        if waits:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        self._moved = True
        if self._unwanted:
            return
        body = self._body
        if not body.add(self, data):
            raise Refused(503)
        if body.size > self._most:
            self._too_long()

    def _too_long(self) -> None:
        if self._most >= self._limits.body_bytes:
            raise Refused(413)
        self._close_after_queued()

    def on_message_complete(self) -> None:
        if self._upgrade:
            return
        if len(self._lines) > self._limits.headers:
            raise Refused(431)
        request = self._request
        request.body = self._body.complete(self)  # type: ignore[assignment]
        self._in_body = False
        self._request = _NO_REQUEST
        self._accept(request)
        if self._closing:
            raise _Enough

    # Answering.

    def write(self, data: bytes) -> None:
        """Send bytes, if the client is still connected."""
        if self.transport is not None:
            self.transport.write(data)

    def _accept(self, request: HttpRequest) -> None:
        if self._new:
            self._leave_idle()
        if self._pipeline.accept(request):
            self._stop_reading()

    def wait(self) -> None:
        """Wait for the next request, or for the rest of it."""
        self._most = self._limits.body_bytes
        if self._in_body:
            self._expect_body()
        elif self._in_head:
            self._expect(self._limits.header_seconds)
        else:
            self._server.waiting[self] = None
            self._expect(self._limits.idle_seconds)

    def cancel(self) -> None:
        """Cancel the answer at shutdown. It can still report the reason."""
        if not self._pipeline.cancel() and self.transport is not None:
            self.transport.close()

    @property
    def busy(self) -> bool:
        """Whether a request is being answered or is queued."""
        return self._pipeline.busy

    # Limits.

    def _expect(self, seconds: float) -> None:
        self.deadline = self._server.clock + seconds

    def expect_reader(self) -> None:
        """Wait until the client has read what was sent."""
        self._expect(self._limits.write_seconds)

    @property
    def silent(self) -> float:
        """Return for how many seconds a client has stalled within a request."""
        if not (self._in_head or self._in_body) or self.busy:
            return 0.0
        allowed = self._limits.header_seconds if self._in_head else self._limits.body_seconds
        return allowed - (self.deadline - self._server.clock)

    def evict(self) -> None:
        """Close this connection to make room for another."""
        self._closing = True
        self._drop()

    def _expect_body(self) -> None:
        self._expect(self._limits.body_seconds)
        self._body_deadline = self.deadline

    def _expect_more(self) -> None:
        """Extend the deadline of a body that grows fast enough."""
        first = self._body_deadline
        if not first:
            self._expect_body()
        elif self._moved:
            self._expect(self._limits.body_seconds)
            self.deadline = min(self.deadline, first + self._body.size / _SLOWEST)

    def overdue(self) -> None:
        """Close after the deadline. Tell the client if it was sending."""
        if not self.busy and not self._closing and (self._in_head or self._in_body):
            self._refuse(408)
        else:
            self._drop()

    def make_way(self) -> None:
        """See `Upload.make_way`."""
        self._refuse(503)

    def _refuse(self, status: int) -> None:
        """Answer a request that cannot be read any further, and close the connection."""
        if self._closing:
            return
        refusal = Refusal(status, self._request.target)
        self._stop_reading()
        self._pipeline.refuse(refusal)

    def _close_after_queued(self) -> None:
        """Stop reading. The connection closes after the last queued request."""
        self._pipeline.close_at_end()
        self._stop_reading()
        raise _Enough

    def _stop_reading(self) -> None:
        """Discard an unfinished request and all further input."""
        self._closing = True
        self._in_head = self._in_body = False
        self._body.discard(self)
        self._request = _NO_REQUEST

    def finish(self) -> None:
        """Close the connection, after a client that is still sending has noticed."""
        if self.transport is None:
            return
        if not self._closing:
            self._closing = True  # ignore the rest of the current block
            self.transport.close()
            return
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._server.waiting[self] = None
        self._expect(self._limits.write_seconds if self.paused else _LINGER)

    def _decline_upgrade(self, rest: bytes) -> None:
        """Ignore an offered protocol upgrade, and continue with HTTP/1.1.

        The parser treats the body as the other protocol, so it gets the head again without the
        offer.
        """
        if self._request.method == "CONNECT":
            self._refuse(400)
        else:
            self._parser = httptools.HttpRequestParser(self)
            self._read(head_without_upgrade(self._request) + rest)

    def _drop(self) -> None:
        if self.transport is not None:
            self.transport.abort()
