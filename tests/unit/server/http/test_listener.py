"""Listening on every address of a host, with one port for all of them."""

import asyncio
import errno
import socket

import pytest

from toolwire.server.http.listener import Listener


def opened(host: str, port: int = 0) -> list[tuple[str, int]]:
    """Where a listener that is opened so can be reached."""

    async def run() -> list[tuple[str, int]]:
        listener = Listener(asyncio.Protocol, lambda: False)
        try:
            await listener.open(host, port, tls=None, handshake_seconds=1)
            return [sock.getsockname()[:2] for sock in listener._sockets]
        finally:
            listener.close()

    return asyncio.run(run())


def found(*hosts: str) -> object:
    """A resolver that knows these addresses."""
    families = {True: socket.AF_INET6, False: socket.AF_INET}

    async def resolve(_loop: object, _host: str, port: int, **_: object) -> list[object]:
        return [(families[":" in h], socket.SOCK_STREAM, 6, "", (h, port)) for h in hosts]

    return resolve


def test_every_address_has_the_port_that_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.SelectorEventLoop, "getaddrinfo", found("127.0.0.1", "127.0.0.2"))
    (one, port), (two, same) = opened("both.example")
    assert (one, two) == ("127.0.0.1", "127.0.0.2")
    assert port == same != 0


def test_an_address_that_this_machine_lacks_does_not_matter_if_there_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asyncio.SelectorEventLoop, "getaddrinfo", found("192.0.2.1", "127.0.0.1"))
    assert [host for host, _ in opened("half.example")] == ["127.0.0.1"]
    monkeypatch.setattr(asyncio.SelectorEventLoop, "getaddrinfo", found("192.0.2.1"))
    with pytest.raises(OSError, match="assign") as refused:
        opened("none.example")
    assert refused.value.errno == errno.EADDRNOTAVAIL


def test_a_port_in_use_is_an_error() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(OSError, match="in use") as refused,
    ):
        opened("127.0.0.1", taken.getsockname()[1])
    assert refused.value.errno == errno.EADDRINUSE
