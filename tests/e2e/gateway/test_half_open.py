"""Connections that begin something and do not go on are closed, and cost nobody else (R18)."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.sizes import size
from tests.e2e.gateway.wire import (
    ask,
    chat_body,
    connected,
    read_to_end,
    read_until,
    request_bytes,
    statuses,
)
from tests.hard.figures import note
from tests.scripted import ScriptedServer

from toolwire.server.config.loader import Timeouts

LIMIT = float(size(1, 8))
HEADS, BODIES, READERS = size(100, 500), size(50, 200), size(20, 200)
SWEEP = 1.0
SLACK = 4.0
CONFIG = f"""
[timeouts]
header = {LIMIT}
body = {LIMIT}
write = {LIMIT}
idle_connection = {LIMIT}
"""
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
BODY = HEAD + b"content-type: application/json\r\ncontent-length: 5000\r\n\r\n" + b'{"model": "m"'


# More than the kernel keeps for a reader that does not read.
TOO_MUCH = [{"text": ("x" * 16_000 + " ") * 300}]


@contextmanager
def opened(
    gateway: Gateway, count: int, data: bytes, window: int = 0
) -> Iterator[list[socket.socket]]:
    """So many connections, each of which has sent the same."""
    with ExitStack() as stack:
        socks = [stack.enter_context(connected(gateway.port, window=window)) for _ in range(count)]
        for sock in socks:
            sock.sendall(data)
        yield socks


def served(gateway: Gateway) -> tuple[int, int]:
    """The status of a good request, and the memory in KiB after it."""
    return ask(gateway.port, path="/v1/models").status, gateway.memory


def test_half_open_connections_are_closed_while_good_requests_are_served(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", TOO_MUCH)
    memory, files = gateway.memory, gateway.files
    reading = request_bytes(chat_body(stream=True))
    with (
        ThreadPoolExecutor(1) as pool,
        opened(gateway, READERS, reading, window=2048),
        opened(gateway, HEADS, HEAD) as heads,
        opened(gateway, BODIES, BODY) as bodies,
    ):
        began = time.monotonic()
        # Beside the rest: in full size the scripted backend is slow, being busy with the readers.
        serving = pool.submit(lambda: [served(gateway) for _ in range(10)])
        answers = [statuses(read_to_end(sock)) for sock in [*heads, *bodies]]
        assert time.monotonic() - began < LIMIT + SWEEP + SLACK
        backend.wait_for(lambda: gateway.files <= files + 2, 10 + 2 * LIMIT)
    most = max(grown for _, grown in serving.result()) - memory
    note(f"{HEADS + BODIES} half-open closed, {READERS} readers, {most / 1024:+.1f} MB at most")
    assert [status for status, _ in serving.result()] == [200] * 10
    assert most < 50 * 1024
    assert answers == [[408]] * (HEADS + BODIES)
    assert len(backend.requests) == READERS + 10


@pytest.mark.parametrize("start", [HEAD, BODY], ids=["head", "body"])
def test_single_bytes_do_not_earn_more_time(gateway: Gateway, start: bytes) -> None:
    began = time.monotonic()
    with connected(gateway.port) as sock:
        sock.sendall(start)
        sock.settimeout(0.1)
        while time.monotonic() - began < LIMIT + SWEEP + SLACK:
            sock.sendall(b"x")
            try:
                reply = sock.recv(65536)
                break
            except TimeoutError:
                continue
    assert statuses(reply) == [408]


def test_a_body_that_comes_steadily_may_take_longer_than_the_limit(gateway: Gateway) -> None:
    body = chat_body(messages=[{"role": "user", "content": "x" * 100_000}])
    data = request_bytes(body, "connection: close")
    with connected(gateway.port) as sock:
        for start in range(0, len(data), 20_000):
            sock.sendall(data[start : start + 20_000])
            time.sleep(0.3)
        assert statuses(read_to_end(sock)) == [200]


def test_a_connection_without_a_next_request_is_closed(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", ["hi"])
    with connected(gateway.port) as silent, connected(gateway.port) as used:
        used.sendall(request_bytes(chat_body()))
        assert statuses(read_until(used, b"}}")) == [200]
        began = time.monotonic()
        assert (read_to_end(used), read_to_end(silent)) == (b"", b"")
    assert time.monotonic() - began < LIMIT + SWEEP + SLACK


def test_a_slow_reader_that_has_caught_up_is_closed_like_any_other(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", [{"text": "x" * 8_000_000}])
    with connected(gateway.port, window=65536) as sock:
        sock.sendall(request_bytes(chat_body()))
        backend.wait_for(lambda: backend.requests and backend.requests[0].finished_at, 20)
        time.sleep(0.2)
        read_until(sock, b"}}")
        began = time.monotonic()
        read_to_end(sock)
    assert time.monotonic() - began < LIMIT + SWEEP + SLACK


def test_a_client_that_waits_for_its_answer_is_never_closed(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use(f"silence:{LIMIT + SWEEP + 0.5}", ["hi"])
    assert ask(gateway.port, chat_body()).status == 200


def test_the_default_limits_close_half_open_connections_within_fifteen_seconds() -> None:
    limits = Timeouts()
    assert limits.header + SWEEP <= 15
    assert limits.body + SWEEP <= 15
    assert limits.write + SWEEP <= 65
    assert limits.idle_connection + SWEEP <= 80
