"""The least that a typed gateway in Python can cost: what `--target floor` measures.

It reads requests and chunks into msgspec structs and writes them out again, on asyncio
protocols with httptools and uvloop on both sides, and does nothing else: no validation, no
limits, no errors, no cancellation. A yardstick, never a gateway.

usage: python floor.py PORT UPSTREAM_PORT
"""

import asyncio
import sys
from typing import Any, cast

import httptools
import msgspec
import uvloop


class Request(msgspec.Struct):
    """A chat request, its tools kept as the bytes they came in."""

    model: str
    messages: list[Any]
    tools: msgspec.Raw = msgspec.Raw(b"null")
    stream: bool = False


class Chunk(msgspec.Struct):
    """An answer, whole or in pieces."""

    id: str
    object: str
    created: int
    model: str
    choices: list[Any]
    usage: Any = None


ENCODER = msgspec.json.Encoder()
REQUESTS = msgspec.json.Decoder(Request)
CHUNKS = msgspec.json.Decoder(Chunk)
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


class Upstream(asyncio.Protocol):
    """One connection to the mock, used by one client connection at a time."""

    def __init__(self) -> None:
        self.parser = httptools.HttpResponseParser(self)
        self.transport: asyncio.Transport
        self.client: Downstream
        self.streams = False
        self.pending = b""
        self.out: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)
        if self.out:
            self.client.transport.write(b"".join(self.out))
            self.out.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-type":
            self.streams = value.startswith(b"text/event-stream")

    def on_headers_complete(self) -> None:
        self.pending = b""
        if self.streams:
            self.out.append(STREAM_HEAD)

    def on_body(self, data: bytes) -> None:
        self.pending += data
        if not self.streams:
            return
        *events, self.pending = self.pending.split(b"\n\n")
        for event in events:
            body = event[6:]
            if body != b"[DONE]":
                body = ENCODER.encode(CHUNKS.decode(body))
            self.out.append(b"%x\r\ndata: %b\n\n\r\n" % (len(body) + 8, body))

    def on_message_complete(self) -> None:
        if self.streams:
            self.out.append(b"0\r\n\r\n")
        else:
            body = ENCODER.encode(CHUNKS.decode(self.pending))
            head = (
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            )
            self.out.append(head % len(body) + body)
        self.client.idle.append(self)


class Downstream(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, upstream_port: int, idle: list[Upstream]) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.transport: asyncio.Transport
        self.upstream_port = upstream_port
        self.idle = idle
        self.body: list[bytes] = []
        self.opening: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self.body.append(data)

    def on_message_complete(self) -> None:
        body = b"".join(self.body)
        self.body.clear()
        if not body:
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        elif self.idle:
            self.forward(self.idle.pop(), body)
        else:
            self.opening = asyncio.ensure_future(self.open(body))

    async def open(self, body: bytes) -> None:
        loop = asyncio.get_running_loop()
        _, upstream = await loop.create_connection(Upstream, "127.0.0.1", self.upstream_port)
        self.forward(upstream, body)

    def forward(self, upstream: Upstream, body: bytes) -> None:
        upstream.client = self
        out = ENCODER.encode(REQUESTS.decode(body))
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: mock\r\nContent-Length: %d\r\n\r\n"
        upstream.transport.write(head % len(out) + out)


async def serve(port: int, upstream_port: int) -> None:
    """Serve for ever."""
    idle: list[Upstream] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Downstream(upstream_port, idle), "127.0.0.1", port, backlog=1024
    )
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2])))
