"""Idle connections make room for new ones, and what is refused is told to come back (R18, R27)."""

import resource
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.sizes import size
from tests.e2e.gateway.wire import (
    Reply,
    ask,
    chat_body,
    connected,
    read_until,
    request_bytes,
    statuses,
)
from tests.scripted import ScriptedServer

TLS = Path(__file__).parents[2] / "tls"
MOST = size(20, 2048)
CONFIG = f"""
[limits]
connections = {MOST}
"""
HALF_HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
HALF_BODY = HALF_HEAD + b"content-length: 5000\r\n\r\n{"


@contextmanager
def crowded(gateway: Gateway, data: bytes = b"") -> Iterator[list[socket.socket]]:
    """As many connections as there may be, each of which has sent the same."""
    with ExitStack() as stack:
        socks = [stack.enter_context(connected(gateway.port)) for _ in range(MOST)]
        for sock in socks:
            sock.sendall(data)
        yield socks


def is_open(sock: socket.socket) -> bool:
    """Whether the gateway has not closed it."""
    sock.setblocking(False)
    try:
        return bool(sock.recv(1))
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def gets_closed(sock: socket.socket) -> bool:
    """Whether the gateway closes it; whom it made room for may have an answer a moment before."""
    sock.settimeout(5)
    try:
        return not sock.recv(1)
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


def test_idle_connections_lock_nobody_out(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])
    with crowded(gateway) as socks:
        for _ in range(3):
            assert ask(gateway.port, chat_body()).status == 200
        assert gets_closed(socks[0])
        assert sum(map(is_open, socks)) >= MOST - 4


def test_used_connections_make_room_in_the_order_of_their_last_request(gateway: Gateway) -> None:
    probe = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
    with crowded(gateway) as socks:
        for sock in reversed(socks):
            sock.sendall(probe)
            assert statuses(read_until(sock, b"}")) == [200]
        assert ask(gateway.port, path="/healthz").status == 200
        assert gets_closed(socks[-1])
        assert is_open(socks[0])


@pytest.mark.parametrize("data", [HALF_HEAD, HALF_BODY], ids=["head", "body"])
def test_requests_that_are_not_sent_on_make_room_after_two_seconds(
    gateway: Gateway, data: bytes
) -> None:
    with crowded(gateway, data):
        time.sleep(4.1)
        assert ask(gateway.port, path="/v1/models").status == 200


def test_a_request_that_is_being_sent_or_answered_is_never_put_out(
    backend: ScriptedServer,
) -> None:
    backend.use("hang_mid", ["some words"])
    config = "[limits]\nconnections = 20\n"
    with running("--upstream", backend.url, config=config) as gateway, ExitStack() as stack:
        busy = [stack.enter_context(connected(gateway.port)) for _ in range(19)]
        for sock in busy:
            sock.sendall(request_bytes(chat_body(stream=True)))
        for sock in busy:
            assert statuses(read_until(sock, b"\r\n\r\n")) == [200]
        sending = stack.enter_context(connected(gateway.port))
        sending.sendall(HALF_BODY)
        time.sleep(0.1)
        reply = ask(gateway.port, path="/v1/models")
        assert_refused(reply)
        assert ask(gateway.port, path="/healthz").status == 200
        assert all(map(is_open, [*busy, sending]))


def assert_refused(reply: Reply) -> None:
    """Whoever it was is told to come back."""
    assert reply.status == 503
    assert reply.error["code"] == "overloaded"
    assert reply.headers["retry-after"] == "1"
    assert reply.headers["connection"] == "close"


def test_more_requests_than_the_limit_are_told_to_come_back(backend: ScriptedServer) -> None:
    backend.use("hang_mid", ["some words"])
    with (
        running("--upstream", backend.url, config="[limits]\nrequests = 2\n") as gateway,
        connected(gateway.port) as one,
        connected(gateway.port) as two,
    ):
        for sock in (one, two):
            sock.sendall(request_bytes(chat_body(stream=True)))
            assert statuses(read_until(sock, b"\r\n\r\n")) == [200]
        reply = ask(gateway.port, chat_body())
        assert (reply.status, reply.error["code"]) == (503, "overloaded")
        assert reply.headers["retry-after"] == "1"
        assert "limits.requests" in reply.error["message"]
        assert ask(gateway.port, path="/readyz").status == 200
        one.close()
        backend.use("std", ["hi"])
        time.sleep(0.3)
        assert ask(gateway.port, chat_body()).status == 200


def test_a_process_without_free_files_waits_makes_room_and_says_so_once(
    backend: ScriptedServer,
) -> None:
    backend.use("std", ["hi"])
    with running("--upstream", backend.url) as gateway, ExitStack() as stack:
        ask(gateway.port, chat_body())
        files = gateway.files + 10
        resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (files, files))
        for _ in range(20):
            stack.enter_context(connected(gateway.port))
        used = gateway.cpu
        time.sleep(1.5)
        assert gateway.cpu - used < 0.5
        assert ask(gateway.port, path="/healthz").status == 200
        assert gateway.log.count("cannot accept connections") == 1
        stack.close()
        assert ask(gateway.port, chat_body()).status == 200
        assert "Traceback" not in gateway.log


def test_many_connections_at_once_shake_hands(backend: ScriptedServer) -> None:
    config = f'[listen]\ntls_cert = "{TLS / "cert.pem"}"\ntls_key = "{TLS / "key.pem"}"\n'
    anyone = ssl.create_default_context()
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    with running("--upstream", backend.url, config=config) as gateway, ExitStack() as stack:
        silent = [stack.enter_context(connected(gateway.port)) for _ in range(600)]
        for _ in range(20):
            sock = anyone.wrap_socket(stack.enter_context(connected(gateway.port)))
            sock.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            assert statuses(read_until(sock, b"}")) == [200]
            sock.close()
        time.sleep(0.2)
        assert not is_open(silent[0])
        assert is_open(silent[-1])
        assert "Traceback" not in gateway.log


def test_the_soft_limit_of_open_files_is_raised(backend: ScriptedServer) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        with running("--upstream", backend.url) as gateway:
            now = resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert now == (min(65_536, before[1]), before[1])
