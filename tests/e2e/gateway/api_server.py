"""A scripted server with an API of typed events: the base of those of two providers."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar, TypeVar

S = TypeVar("S", bound="ApiServer")


class ApiServer(ThreadingHTTPServer):
    """Remembers what it was asked. `status` other than 200 is an error for every request; `breaks`:
    streams end with an error instead of `breaks_at`, and `hangs_up`: they just end there."""

    daemon_threads = True
    path = ""
    models: ClassVar[Any] = None
    breaks_at = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reset()

    def reset(self) -> None:
        """Forget all requests, and answer them as usual."""
        self.bodies: list[Any] = []
        self.heads: list[dict[str, str]] = []
        self.status = 200
        self.breaks = self.hangs_up = False

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def answer(self, body: Any) -> Any:
        """The answer to a request."""
        raise NotImplementedError

    def other(self, path: str, body: Any) -> Any:
        """The answer at another path; None: it has no such path."""
        return None

    def events(self, answer: Any) -> Iterable[Any]:
        """The same answer in events."""
        raise NotImplementedError

    def error(self, *, found: bool) -> Any:
        """The body of an error: of a busy server, or of a path that it does not have."""
        raise NotImplementedError

    def broken(self) -> Any:
        """The event that ends a stream with an error."""
        raise NotImplementedError


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ApiServer

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self._send(200, self.server.models)

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server.bodies.append(body)
        server.heads.append({name.lower(): value for name, value in self.headers.items()})
        if self.path != server.path and (found := server.other(self.path, body)) is not None:
            self._send(200, found)
        elif self.path != server.path:
            self._send(404, server.error(found=False))
        elif server.status != 200:
            self._send(server.status, server.error(found=True))
        elif body.get("stream"):
            self._stream(server.answer(body))
        else:
            self._send(200, server.answer(body))

    def _send(self, status: int, value: Any) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, answer: Any) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in self.server.events(answer):
            if event["type"] == self.server.breaks_at:
                if self.server.hangs_up:
                    return
                if self.server.breaks:
                    time.sleep(0.2)  # in a read of its own
                    self._event(self.server.broken())
                    return
            self._event(event)

    def _event(self, event: Any) -> None:
        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()


@contextmanager
def serving(kind: type[S]) -> Iterator[S]:
    """A server that runs until the block ends."""
    server = kind()
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
