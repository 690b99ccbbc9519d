"""One request and its answer, written as HTTP/1.1."""

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from toolwire.surfaces.exchange import HttpRequest

if TYPE_CHECKING:
    from toolwire.server.http.connection import ClientConnection

_STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}


class HttpExchange:
    """One request and the answer to it, as the surfaces see it."""

    __slots__ = (
        "_chunked", "_connection", "_on_pause", "_on_resume", "_waiting",
        "ended", "request", "sent", "started", "status",
    )  # fmt: skip

    def __init__(self, connection: "ClientConnection", request: HttpRequest) -> None:
        self.request = request
        self.status = 0
        self.sent = 0
        self.started = False
        self.ended = False
        self._connection = connection
        self._chunked = False
        self._waiting = b""
        self._on_pause: Callable[[], None] | None = None
        self._on_resume: Callable[[], None] | None = None

    @property
    def gone(self) -> bool:
        """Whether the client has disconnected."""
        return self._connection.transport is None

    def start(self, status: int, headers: list[tuple[str, str]]) -> None:
        """Start an answer of unknown length. Its head is sent with the first piece."""
        self._chunked = self.request.chunked_ok
        if self._chunked:
            headers.append(("transfer-encoding", "chunked"))
        else:
            self.request.keep_alive = False
        self._waiting = self._head(status, headers)

    def write(self, data: bytes) -> None:
        """Send the next piece of a started answer. An empty piece sends only the head."""
        self.sent += len(data)
        if data and self._chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        if self._waiting:
            data, self._waiting = self._waiting + data, b""
        if data:
            self._connection.write(data)

    def end(self, last: bytes = b"") -> None:
        """End a started answer, with this last piece."""
        self._over()
        self.sent += len(last)
        if self._chunked:
            last = b"%x\r\n%b\r\n0\r\n\r\n" % (len(last), last) if last else b"0\r\n\r\n"
        data, self._waiting = self._waiting + last, b""
        if data:
            self._connection.write(data)

    def abort(self) -> None:
        """Abort a started answer: close the connection, so that it does not look complete."""
        self._over()
        self.write(b"")
        self.request.keep_alive = False

    def respond(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        """Send a whole answer."""
        self._over()
        size = len(body)
        head = self._head(status, [*headers, ("content-length", str(size))])
        self.sent += size
        self._connection.write(head if self.request.method == "HEAD" else head + body)

    def _head(self, status: int, headers: list[tuple[str, str]]) -> bytes:
        self.started = True
        self.status = status
        if not self.request.keep_alive:
            headers.append(("connection", "close"))
        lines = "\r\n".join(map(": ".join, headers))
        # A backend may use an unregistered status, such as nginx's 499.
        first = _STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status
        return first + lines.encode("latin-1", "replace") + b"\r\n\r\n"

    def on_flow(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """Set the callbacks for a client that reads too slowly, and for when it has caught up."""
        self._on_pause, self._on_resume = pause, resume
        if self._connection.paused:
            pause()

    def _over(self) -> None:
        """Drop the flow callbacks: the backend's connection may already serve another answer."""
        self.ended = True
        self._on_pause = self._on_resume = None

    def flow(self, *, paused: bool) -> None:
        """Report that the connection's buffer is full, or has room again."""
        act = self._on_pause if paused else self._on_resume
        if act is not None:
            act()
