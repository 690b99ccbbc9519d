"""How a backend is reached: directly, and in time (R10)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from toolwire.backends.http import HttpPool, Origin
from toolwire.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable

Serve: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def ask(serve: Serve, scheme: str = "http") -> int:
    """The status of a server's answer."""

    async def go() -> int:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            pool = HttpPool(Origin.of(f"{scheme}://127.0.0.1:{port}/v1"), connect_timeout=0.3)
            try:
                async with asyncio.timeout(5):
                    connection = await pool.send(pool.head("GET", "/models", {}), [])
                connection.abort()
                return connection.head.status
            finally:
                await asyncio.sleep(0.1)  # until the server has noticed

    return asyncio.run(go())


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    writer.close()


async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(-1)
    writer.close()


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Begin a TLS record of 16 KiB, and send it a byte at a time."""
    writer.write(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
    while not writer.is_closing() and not reader.at_eof():
        writer.write(b"\x00")
        await asyncio.sleep(0.01)
    writer.close()


async def garble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 1000)
    await reader.read(-1)
    writer.close()


@pytest.mark.parametrize(
    ("serve", "error"),
    [(stall, UpstreamTimeout), (drip, UpstreamTimeout), (garble, UpstreamUnavailable)],
)
def test_a_tls_handshake_that_comes_to_nothing_ends_in_time(
    serve: Serve, error: type[UpstreamError]
) -> None:
    with pytest.raises(error):
        ask(serve, "https")


@pytest.mark.parametrize("name", ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_not_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (name, name.lower()):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert ask(answer) == 200
