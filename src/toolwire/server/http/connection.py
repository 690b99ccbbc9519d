"""One client's connection: HTTP/1.1 by an asyncio protocol around llhttp (httptools).

A connection is in one of four states: waiting for a request, reading its head, reading its body, or
answering. Each state but the last has a deadline, which the server enforces. An answering
connection keeps listening: if the client disconnects, the task that answers is cancelled
immediately.

The head of a request is checked before its body is read, and the body of a refused request is
discarded as it arrives. Pipelined requests are read only a little way ahead; beyond that, those
that were read are answered and the connection is closed. All of it is freed when the answer or the
connection ends, not when the garbage collector runs.

Once nothing more is to be read (`_closing`), further input is discarded before the connection is
closed: closing immediately would make the kernel reset it, and the client would lose its answer.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import httptools

from toolwire.server.http.bodies import SMALL
from toolwire.server.http.exchange import HttpExchange
from toolwire.server.http.head import Refused, announces_body, check_head, wants_continue
from toolwire.server.http.upgrade import head_without_upgrade
from toolwire.surfaces.exchange import HttpRequest

if TYPE_CHECKING:
    from toolwire.server.http.server import HttpServer

_MAX_PIPELINED = 16
_MAX_AHEAD = 1 << 20
"""Bytes of pipelined bodies that are read ahead on one connection."""
_LINGER = 3.0
_SLOWEST = 4096
"""The minimum upload rate, in bytes per second, that extends a client's deadline."""
_PIECE = 4096
_FRAMING = 1 << 20
"""Overhead allowed beside a body: chunk sizes, trailers, the head in the same block."""
_NO_REQUEST = HttpRequest()


class _Refusal(NamedTuple):
    """A request that cannot be read any further. Its target may be unknown."""

    status: int
    target: bytes


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
        self._waiting: deque[HttpRequest | _Refusal] = deque()
        """Requests to answer next. A refusal at the end is for what followed them."""
        self._exchange: HttpExchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._request = _NO_REQUEST
        self._body: list[bytes | bytearray] = []
        self._size = self._most = 0
        self._head_size = self._fields = 0
        self._fed = self._bare = 0
        self._body_deadline = 0.0
        self._in_head = False
        self._in_body = False
        self._moved = False
        self._unwanted = False
        self._upgrade = False
        self._closing = False
        self._surplus = False

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self._expect(self._limits.header_seconds)
        self._surplus = not self._server.came(self)
        if self._surplus and self._server.full:
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
            # The parser does not report an unfinished header, so fed bytes are counted, too.
            self._head_size += len(data)
            if self._head_size > 2 * self._limits.header_bytes:
                self._refuse(431)
        elif self._in_body:
            self._read_on(len(data))

    def _read_on(self, fed: int) -> None:
        """Decide whether to wait for the rest of an incomplete body."""
        # Only this counts bytes outside the body, such as an unfinished trailer.
        self._fed += fed
        self._bare = 0 if self._moved else self._bare + fed
        self._moved = False
        if self._unwanted:
            request = self._request
            request.keep_alive = False
            self._stop_reading()
            self._accept(request)
        elif self._bare > 2 * self._limits.header_bytes:
            self._refuse(431)
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
        while self._waiting:
            self._release(self._waiting.popleft())
        self._server.left(self)
        if self._task is not None:
            self._task.cancel()
        elif self._exchange is not None:
            self._release(self._exchange.request)
            self._exchange = None

    def pause_writing(self) -> None:
        self.paused = True
        self._expect(self._limits.write_seconds)
        if self._exchange is not None:
            self._exchange.flow(paused=True)

    def resume_writing(self) -> None:
        self.paused = False
        if self._exchange is not None:
            self.deadline = 0.0
            self._exchange.flow(paused=False)

    # Called by the parser.

    def on_message_begin(self) -> None:
        self._request = HttpRequest()
        self._in_head = True
        self._head_size = self._fields = 0
        if self._exchange is None:
            self._server.waiting.pop(self, None)
            self._expect(self._limits.header_seconds)

    def on_url(self, url: bytes) -> None:
        self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_size += len(name) + len(value)
        self._fields += 1
        if self._fields > self._limits.headers or self._head_size > 2 * self._limits.header_bytes:
            raise Refused(431)
        if not self._in_head:
            return  # a trailer: counted, but not used
        headers = self._request.headers
        name = name.lower()
        headers[name] = headers[name] + b", " + value if name in headers else value

    def on_headers_complete(self) -> None:
        request = self._request
        self._in_head = False
        self._in_body = True
        self._fed = self._bare = 0
        self._unwanted = False
        request.method = self._parser.get_method().decode("latin-1")
        request.keep_alive = self._parser.should_keep_alive() and not self._server.draining
        version = self._parser.get_http_version()
        request.chunked_ok = version == "1.1"
        self._upgrade = self._parser.should_upgrade()
        if self._upgrade:
            return
        check_head(request, version)
        if announces_body(request):
            self._before_body(request)
        if self._exchange is None:
            self._expect_body()

    def _before_body(self, request: HttpRequest) -> None:
        """Decide by the head whether to read the body."""
        if not self._server.admits(request):
            self._unwanted = True
            return
        length = int(request.headers.get(b"content-length", b"0"))
        if length > self._limits.body_bytes:
            raise Refused(413)
        self._most = self._room()
        waits = wants_continue(request)
        if length > self._most or (waits and self._most < self._limits.body_bytes):
            self._close_after_queued()
        if waits:
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _room(self) -> int:
        """Return the size limit of the next body. It is small for a pipelined request."""
        most = self._limits.body_bytes
        if self._exchange is None or (self._exchange.ended and not self._waiting):
            return most
        ahead = sum(len(r.body) for r in self._waiting if isinstance(r, HttpRequest))
        return max(0, min(most - 1, _MAX_AHEAD - ahead))

    def on_body(self, data: bytes) -> None:
        self._moved = True
        if self._unwanted:
            return
        size = self._size = self._size + len(data)
        if self._body and len(data) < _PIECE:
            self._append(data)
        else:
            self._body.append(data)
        if size > SMALL and not self._server.bodies.take(self, size, len(data)):
            raise Refused(503)
        if size > self._most:
            self._too_long()
        if self._exchange is None:
            self._expect(self._limits.body_seconds)
            self.deadline = min(self.deadline, self._body_deadline + size / _SLOWEST)

    def _append(self, data: bytes) -> None:
        """Append a small piece to the last one: many small objects would waste memory."""
        if isinstance(last := self._body[-1], bytearray):
            last += data
        else:
            self._body.append(bytearray(data))

    def _too_long(self) -> None:
        if self._most >= self._limits.body_bytes:
            raise Refused(413)
        self._close_after_queued()

    def on_message_complete(self) -> None:
        if self._upgrade:
            return
        request = self._request
        body = self._body
        if body:
            request.body = body[0] if len(body) == 1 else b"".join(body)  # type: ignore[assignment]
            self._body = []
        if self._size > SMALL:
            self._server.bodies.complete(self)
        self._size = 0
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
        """Answer a request now, or after the requests before it."""
        if self._exchange is None:
            self._answer(request)
            return
        self._waiting.append(request)
        if len(self._waiting) >= _MAX_PIPELINED:
            request.keep_alive = False
            self._stop_reading()

    def _answer(self, request: HttpRequest) -> None:
        self.deadline = 0.0
        if self._surplus:
            request.keep_alive = False
        exchange = self._exchange = HttpExchange(self, request)
        if self._server.probe(exchange):
            self._over()
            return
        if self._surplus:
            self._server.refuse(exchange, 503)
            self._over()
            return
        self._server.queue.put(self)

    @property
    def size(self) -> int:
        """See `QueuedRequest.size`."""
        return len(self._exchange.request.body) if self._exchange is not None else 0

    def begin(self) -> None:
        """See `QueuedRequest.begin`."""
        if self._exchange is None:
            return  # the client has disconnected
        self._task = self._server.loop.create_task(self._server.app(self._exchange))
        self._task.add_done_callback(self._answered)

    def give_up(self) -> None:
        """See `QueuedRequest.give_up`."""
        if self._exchange is not None:
            self._server.refuse(self._exchange, 503)
            self._over()

    def _answered(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._server.defect(error)
        self._over()

    def _over(self) -> None:
        """Continue after an answer is complete or abandoned."""
        exchange, self._exchange = self._exchange, None
        if exchange is None:
            return
        self._release(exchange.request)
        if self.transport is None:
            return
        if not exchange.ended or not exchange.request.keep_alive or self._server.draining:
            self._finish()
        elif self._waiting:
            self._answer_next(self._waiting.popleft())
        else:
            self._wait()

    def _answer_next(self, following: "HttpRequest | _Refusal") -> None:
        """Answer the next pipelined request."""
        if isinstance(following, HttpRequest):
            self._answer(following)
        else:
            self._say(following)

    def _wait(self) -> None:
        """Wait for the next request, or for the rest of it."""
        self._most = self._limits.body_bytes
        if self._in_body:
            self._expect_body()
        elif self._in_head:
            self._expect(self._limits.header_seconds)
        else:
            self._server.waiting[self] = None
            self._expect(self._limits.idle_seconds)

    def _release(self, request: "HttpRequest | _Refusal") -> None:
        """Release the body of a finished request, even if the request is still referenced."""
        if isinstance(request, HttpRequest):
            if len(request.body) > SMALL:
                self._server.bodies.give(len(request.body))
            request.body = b""

    def cancel(self) -> None:
        """Cancel the answer at shutdown. It can still report the reason."""
        if self._task is not None:
            self._task.cancel()
        elif self._exchange is not None:
            self.give_up()
        elif self.transport is not None:
            self.transport.close()

    @property
    def busy(self) -> bool:
        """Whether a request is being answered or is queued."""
        return self._exchange is not None

    # Limits.

    def _expect(self, seconds: float) -> None:
        self.deadline = self._server.clock + seconds

    @property
    def silent(self) -> float:
        """Return for how many seconds a client has stalled within a request."""
        if not (self._in_head or self._in_body) or self._exchange is not None:
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

    def overdue(self) -> None:
        """Close after the deadline. Tell the client if it was sending."""
        if self._exchange is None and not self._closing and (self._in_head or self._in_body):
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
        refusal = _Refusal(status, self._request.target)
        self._stop_reading()
        if self._exchange is None:
            self._say(refusal)
        else:
            self._waiting.append(refusal)

    def _say(self, refusal: "_Refusal") -> None:
        request = HttpRequest(method="POST", target=refusal.target, keep_alive=False)
        self._server.refuse(HttpExchange(self, request), refusal.status)
        self._finish()

    def _close_after_queued(self) -> None:
        """Stop reading. The connection closes after the last queued request."""
        if self._waiting and isinstance(last := self._waiting[-1], HttpRequest):
            last.keep_alive = False
        elif self._exchange is not None:
            self._exchange.request.keep_alive = False
        self._stop_reading()
        raise _Enough

    def _stop_reading(self) -> None:
        """Discard an unfinished request and all further input."""
        self._closing = True
        self._in_head = self._in_body = False
        if self._size > SMALL:
            self._server.bodies.complete(self)
            self._server.bodies.give(self._size)
        self._size = 0
        self._body = []
        self._request = _NO_REQUEST

    def _finish(self) -> None:
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
