"""Bodies, however large, many, slow or unwanted, are not kept, and nobody is locked out (R23)."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.sizes import size
from tests.e2e.gateway.wire import (
    CHAT,
    ask,
    chat_body,
    connected,
    read_to_end,
    read_until,
    statuses,
)
from tests.scripted import ScriptedServer

from toolwire.server.access.auth import hash_key

MIB = 1 << 20
KEY = "tw-right-0123456789"
CONFIG = f"""
[limits]
bodies_bytes = {64 * MIB}

[[keys]]
name = "me"
sha256 = "{hash_key(KEY)}"
"""
RIGHT = {"authorization": f"Bearer {KEY}"}
ABANDONED, COMPLETE, AT_ONCE = size(30, 500), size(12, 100), size(20, 60)
ALLOWED = 20 * 1024  # KiB over what an idle process has
UPLOAD = b"x" * (10 * MIB - 1000)
MANY = json.dumps(chat_body(messages=[{"role": "user", "content": "x" * 1000}] * 9000)).encode()
ONE = json.dumps(chat_body(messages=[{"role": "user", "content": "x" * 9_000_000}])).encode()


@pytest.fixture
def gateway(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that has done nothing but warm up, and does not grow by more than is allowed."""
    backend.use("std", ["hi"])
    with running("--upstream", backend.url, config=CONFIG) as process:
        for _ in range(3):
            assert ask(process.port, chat_body(), headers=RIGHT).status == 200
        before = process.memory
        yield process
        backend.wait_for(lambda: process.memory - before <= ALLOWED, 6)
        assert "Traceback" not in process.log


def head(length: int, key: str = KEY, *lines: str) -> bytes:
    """The head of a request."""
    text = [
        f"POST {CHAT} HTTP/1.1", "host: x", f"authorization: Bearer {key}",
        f"content-length: {length}", *lines, "", "",
    ]  # fmt: skip
    return "\r\n".join(text).encode()


def send(sock: socket.socket, *pieces: bytes) -> None:
    """Send as much as the other side takes."""
    with suppress(ConnectionError, TimeoutError):
        for piece in pieces:
            sock.sendall(piece)


@pytest.mark.parametrize("key", [KEY, "wrong"])
@pytest.mark.timeout(size(60, 600))
def test_abandoned_uploads_leave_nothing(gateway: Gateway, key: str) -> None:
    for _ in range(ABANDONED):
        with connected(gateway.port) as sock:
            send(sock, head(10 * MIB, key), UPLOAD)


@pytest.mark.parametrize("body", [MANY, ONE], ids=["many messages", "one text"])
@pytest.mark.parametrize(("key", "status"), [(KEY, 200), ("wrong", 401)])
@pytest.mark.timeout(size(60, 600))
def test_answered_bodies_leave_nothing(
    gateway: Gateway, body: bytes, key: str, status: int
) -> None:
    for _ in range(COMPLETE):
        with connected(gateway.port) as sock:
            send(sock, head(len(body), key, "connection: close"), body)
            assert statuses(read_to_end(sock)) == [status]


@pytest.mark.parametrize("variant", ["hang_headers", "hang_first", "err400"])
@pytest.mark.timeout(size(60, 600))
def test_bodies_of_turns_that_come_to_nothing_leave_nothing(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    backend.use(variant, ["hi"])
    for number in range(COMPLETE):
        with connected(gateway.port) as sock:
            send(sock, head(len(MANY)), MANY)
            backend.wait_for(lambda seen=number: len(backend.requests) > seen)
            if variant == "err400":
                assert statuses(read_until(sock, b"}}")) == [400]


@pytest.mark.timeout(size(60, 300))
def test_dripping_bodies_are_limited_and_lock_nobody_out(gateway: Gateway) -> None:
    before = gateway.memory
    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            sock = stack.enter_context(connected(gateway.port))
            send(sock, head(10 * MIB), UPLOAD)
        assert gateway.memory - before < 110 * 1024
        for body in (chat_body(), ONE):
            assert ask(gateway.port, body, headers=RIGHT).status == 200


def test_dripping_bodies_without_a_key_are_not_kept_at_all(gateway: Gateway) -> None:
    before = gateway.memory
    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            sock = stack.enter_context(connected(gateway.port))
            send(sock, head(10 * MIB, "wrong"), UPLOAD)
        assert gateway.memory - before < ALLOWED


@pytest.mark.timeout(size(60, 300))
def test_bodies_before_their_turn_are_limited(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("hang_first", ["hi"])
    before = gateway.memory
    with ExitStack() as stack, ThreadPoolExecutor(4) as pool:
        socks = [stack.enter_context(connected(gateway.port, timeout=3)) for _ in range(4)]
        request = head(len(ONE)) + ONE
        list(pool.map(lambda sock: send(sock, *[request] * 16), socks))
        backend.wait_for(lambda: len(backend.requests) == 4)
        # Of each, one body and what is made of it.
        assert gateway.memory - before < 4 * 5 * 10 * 1024
    backend.wait_for(lambda: all(request.closed_at for request in backend.requests), 1)


def test_the_key_is_judged_before_the_body_comes(gateway: Gateway) -> None:
    with connected(gateway.port) as sock:
        sock.sendall(head(9 * MIB, "wrong", "expect: 100-continue"))
        reply = read_to_end(sock)
    assert statuses(reply) == [401]
    assert b"connection: close" in reply
    assert b"toolwire-request-id: " in reply
    assert b'"code":"invalid_api_key"' in reply
    assert " 401 " in gateway.wait_for_log("401")
    metrics = ask(gateway.port, path="/metrics", headers=RIGHT).body.decode()
    assert 'status="401"' in metrics


@pytest.mark.parametrize(
    ("start", "status"),
    [
        (f"POST /nowhere HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n", 404),
        (f"PUT {CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n", 405),
        (f"POST {CHAT} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n", 413),
        ("POST /healthz HTTP/1.1\r\nhost: x\r\n", 405),
    ],
)
def test_what_the_head_gets_refused_is_refused_before_the_body_comes(
    gateway: Gateway, start: str, status: int
) -> None:
    length = 11 * MIB if status == 413 else 9 * MIB
    with connected(gateway.port) as sock:
        sock.sendall(f"{start}content-length: {length}\r\n\r\n".encode())
        assert statuses(read_to_end(sock)) == [status]


def test_when_bodies_are_too_many_the_next_is_told_when_to_come_back(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("hang_first", ["hi"])
    with ExitStack() as stack:
        for number in range(7):
            sock = stack.enter_context(connected(gateway.port))
            send(sock, head(len(ONE)), ONE)
            backend.wait_for(lambda seen=number: len(backend.requests) > seen)
        began = time.monotonic()
        reply = ask(gateway.port, ONE, headers=RIGHT)
        assert time.monotonic() - began < 5
    assert (reply.status, reply.error["code"]) == (503, "overloaded")
    assert reply.headers["retry-after"] == "1"
