"""A backend that talks without a pause, and a crowd of clients that listen to it, in one process.

`python -m tests.e2e.gateway.crowd` prints the backend's port. A line `PORT COUNT` on its stdin
opens so many streams through the gateway at PORT; it prints `all` once each has said something.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.gateway.wire import chat_body, request_bytes

CHUNK = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "tick "}, "finish_reason": None}],
    }
)
BLOCK = f"data: {CHUNK}\n\n".encode() * 20
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


class Talker(asyncio.Protocol):
    """The backend's side of a connection: as much as the gateway takes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.begun = self.paused = False

    def data_received(self, data: bytes) -> None:
        if not self.begun and b"chat/completions" in data:
            self.begun = True
            self.transport.write(HEAD)
            self.talk()

    def talk(self) -> None:
        """Say something, and go on when everybody else has."""
        if not self.paused and not self.transport.is_closing():
            self.transport.write(BLOCK)
            asyncio.get_running_loop().call_later(0.01, self.talk)

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self.talk()


class Listener(asyncio.Protocol):
    """The client's side: reads all and keeps nothing."""

    def __init__(self, waiting: set["Listener"], done: asyncio.Event) -> None:
        self.waiting, self.done = waiting, done
        waiting.add(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(request_bytes(chat_body(stream=True)))

    def data_received(self, data: bytes) -> None:
        if self in self.waiting and b"tick" in data:
            self.waiting.discard(self)
            if not self.waiting:
                self.done.set()


async def main() -> None:
    """Serve until stdin ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Talker, "127.0.0.1", 0, backlog=1024)
    tell(server.sockets[0].getsockname()[1])
    while line := await asyncio.to_thread(sys.stdin.readline):
        await listen(*map(int, line.split()))
        tell("all")


async def listen(port: int, count: int) -> None:
    """Open streams until each has said something."""
    waiting: set[Listener] = set()
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    for _ in range(count):
        await loop.create_connection(lambda: Listener(waiting, done), "127.0.0.1", port)
    await done.wait()


def tell(words: object) -> None:
    """Say something to whoever started us."""
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


class Crowd:
    """The process, from outside. `url` is that of its backend."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self.url = f"http://127.0.0.1:{int(self._out.readline())}/v1"

    def listen(self, port: int, count: int) -> None:
        """Open so many streams, and wait until each has begun."""
        self._in.write(f"{port} {count}\n")
        self._in.flush()
        assert self._out.readline() == "all\n"


@contextmanager
def crowd() -> Iterator[Crowd]:
    """Run one until the block ends."""
    command = [sys.executable, "-m", "tests.e2e.gateway.crowd"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield Crowd(process)
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(main())
