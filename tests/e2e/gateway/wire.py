"""HTTP from the client's side: ordinary requests, and raw bytes for what no library sends."""

import json
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from typing import Any

CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Reply:
    """An answer. `complete` is false if the connection ended before the body did."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    complete: bool = True

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The error object of a refused request, checked to have its four keys."""
        error: dict[str, Any] = self.json["error"]
        assert set(error) == {"message", "type", "param", "code"}, error
        assert error["message"], error
        return error


def chat_body(**fields: Any) -> dict[str, Any]:
    """The smallest body of a chat request, with more fields if given."""
    return {"model": "m", "messages": [{"role": "user", "content": "Hello"}], **fields}


def ask(
    port: int,
    body: Any = None,
    *,
    path: str = CHAT,
    method: str = "",
    headers: Mapping[str, str] | None = None,
    timeout: float = 20.0,
) -> Reply:
    """Send one request over a connection of its own and read the answer to its end."""
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    kind = {} if data is None else {"content-type": "application/json"}
    try:
        method = method or ("GET" if data is None else "POST")
        connection.request(method, path, data, {**kind, **(headers or {})})
        return read_reply(connection.getresponse())
    finally:
        connection.close()


def read_reply(response: HTTPResponse) -> Reply:
    """Read an answer that has begun to its end."""
    headers = {name.lower(): value for name, value in response.getheaders()}
    try:
        return Reply(response.status, headers, response.read())
    except IncompleteRead as cut:
        return Reply(response.status, headers, cut.partial, complete=False)


def request_bytes(body: Any, *lines: str, path: str = CHAT) -> bytes:
    """A request as bytes, with more header lines if given."""
    data = json.dumps(body).encode()
    head = [
        f"POST {path} HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        f"content-length: {len(data)}",
        *lines,
    ]
    return "\r\n".join([*head, "", ""]).encode() + data


@contextmanager
def connected(port: int, timeout: float = 10.0, *, window: int = 0) -> Iterator[socket.socket]:
    """A bare connection. `window` makes its receive buffer small."""
    with socket.socket() as sock:
        if window:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
        sock.settimeout(timeout)
        sock.connect(("127.0.0.1", port))
        yield sock


def read_until(sock: socket.socket, mark: bytes) -> bytes:
    """Read until the mark has come, or the peer has closed."""
    data = b""
    while mark not in data and (block := sock.recv(65536)):
        data += block
    return data


def read_to_end(sock: socket.socket) -> bytes:
    """Read until the peer closes; a reset counts as a close."""
    data = b""
    try:
        while block := sock.recv(65536):
            data += block
    except ConnectionResetError:
        pass
    return data


def seconds_until_closed(sock: socket.socket) -> float:
    """How long it takes until the peer closes."""
    began = time.monotonic()
    read_to_end(sock)
    return time.monotonic() - began


def statuses(data: bytes) -> list[int]:
    """The status of every answer in what was read."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]
