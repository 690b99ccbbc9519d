"""HTTP/1.1 by hand over asyncio streams, since it must be able to misbehave at every byte.

It reads requests and acts replies out; it decides nothing. It never compresses.
"""

import asyncio
import math
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from itertools import chain

from tests.scripted.record import Recorded
from tests.scripted.reply import Cut, Pause, Reply, Step


class PeerGoneError(ConnectionError):
    """The peer closed the connection."""


class CutError(ConnectionError):
    """We closed the connection ourselves, as the reply demanded."""


class Wire:
    """One connection: requests in, replies out, and an eye on whether the peer is still there."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._buffer = bytearray()
        self._arrived = asyncio.Event()
        self._gone = asyncio.Event()
        self.gone_at: float | None = None
        self._pump = asyncio.create_task(self._read_on())
        # Every drain waits until the kernel has all of it: a cut then loses nothing before it.
        writer.transport.set_write_buffer_limits(high=0)

    async def read_request(self) -> Recorded:
        """Read the next request, body and all."""
        head = await self._read_until(b"\r\n\r\n")
        start, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = start.split(" ", 2)
        fields = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        if headers.get("expect", "").lower() == "100-continue":
            await self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = await self._read_chunked()
        else:
            body = await self._read_exactly(int(headers.get("content-length", "0")))
        return Recorded(method, path, headers, body, time.monotonic())

    async def send(self, reply: Reply) -> None:
        """Act a reply out; raises `PeerGoneError` when the peer leaves before its end."""
        for step in chain(reply.before, [_head(reply)], _framed(reply), reply.after):
            await self._take(step, reply.raw_split)

    async def close(self) -> None:
        """Close the connection in the ordinary way."""
        self._pump.cancel()
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    def abort(self) -> None:
        """End the connection with a reset instead of a close."""
        if self._writer.transport.is_closing():
            return
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def _take(self, step: Step, split: int) -> None:
        match step:
            case Pause(seconds):
                await self._pause(seconds)
            case Cut(how):
                # The peer gets the time to read what came before: a reset may overtake it.
                await self._pause(0.02)
                if how == "reset":
                    self.abort()
                raise CutError(how)
            case _:
                await self._write(step, split)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(None if math.isinf(seconds) else seconds):
                await self._gone.wait()
        except TimeoutError:
            return
        raise PeerGoneError

    async def _write(self, data: bytes, split: int = 0) -> None:
        for piece in _split(data, split):
            await asyncio.sleep(0)  # lets the pump see that the peer has left
            if self._gone.is_set():
                raise PeerGoneError
            self._writer.write(piece)
            await self._writer.drain()

    async def _read_on(self) -> None:
        """Read all the time, during replies too, so that the end is seen when it comes."""
        with suppress(ConnectionError):
            while data := await self._reader.read(65536):
                self._buffer += data
                self._arrived.set()
        self.gone_at = time.monotonic()
        self._gone.set()
        self._arrived.set()

    async def _read_until(self, mark: bytes) -> bytes:
        while (end := self._buffer.find(mark)) < 0:
            await self._fill()
        return self._cut_off(end + len(mark))

    async def _read_exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._fill()
        return self._cut_off(size)

    async def _read_chunked(self) -> bytes:
        body = bytearray()
        while size := int((await self._read_until(b"\r\n")).partition(b";")[0], 16):
            body += await self._read_exactly(size)
            await self._read_exactly(2)
        while await self._read_until(b"\r\n") != b"\r\n":
            continue
        return bytes(body)

    async def _fill(self) -> None:
        if self._gone.is_set():
            raise PeerGoneError
        self._arrived.clear()
        await self._arrived.wait()

    def _cut_off(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data


def _head(reply: Reply) -> bytes:
    framing = {
        "chunked": ("transfer-encoding", "chunked"),
        "length": ("content-length", str(reply.length)),
        "close": ("connection", "close"),
    }
    fields = [*reply.headers, framing[reply.framing]]
    lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _framed(reply: Reply) -> Iterator[Step]:
    """The steps in HTTP's framing, one by one since a reply may be huge.

    The end of the body goes with the last piece: a peer that has that one may leave at once.
    """
    if reply.framing != "chunked":
        yield from reply.steps
        return
    *steps, last = reply.steps
    yield from map(_frame, steps)
    if isinstance(last, bytes):
        yield b"%s0\r\n\r\n" % _frame(last)
    else:
        yield from (last, b"0\r\n\r\n")


def _frame(step: Step) -> Step:
    """Frame what is to be written; nothing stays nothing, since an empty chunk ends a body."""
    return b"%x\r\n%s\r\n" % (len(step), step) if isinstance(step, bytes) and step else step


def _split(data: bytes, size: int) -> Iterator[bytes]:
    step = size or max(len(data), 1)
    for start in range(0, len(data), step):
        yield data[start : start + step]
