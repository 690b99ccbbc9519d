"""A client that leaves, at whatever moment, stops the backend's work within a second (R16)."""

import socket
import struct
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.sizes import size
from tests.e2e.gateway.wire import ask, chat_body, connected, read_until, request_bytes
from tests.hard.figures import note
from tests.scripted import ScriptedServer

AT_ONCE = 20
TIMES = size(40, 200)
CONFIG = """
[timeouts]
keepalive = 0.3
"""

WAITING = {
    "before the backend's headers, streaming": ("hang_headers", True),
    "before the backend's headers, whole": ("hang_headers", False),
    "before the first token, streaming": ("hang_first", True),
    "before the first token, whole": ("hang_first", False),
    "in the middle of a whole answer": ("hang_mid", False),
}


def close(sock: socket.socket) -> None:
    """Leave in the ordinary way."""
    sock.close()


def reset(sock: socket.socket) -> None:
    """Leave as a process that was killed does."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def many(action: Callable[[int], float]) -> list[float]:
    """Do it `TIMES` times, several at once, and give every result."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(action, range(TIMES)))


def check_all_closed(backend: ScriptedServer, left: list[float]) -> None:
    """The backend has seen every one of them leave, none later than a second."""
    backend.wait_for(lambda: all(request.closed_at for request in backend.requests), 3)
    closed = {int(request.json["user"]): request.closed_at for request in backend.requests}
    assert len(backend.requests) == len(closed) == TIMES
    latest = max(closed[number] - went for number, went in enumerate(left))
    note(f"{TIMES} leavers, the last seen after {latest * 1000:.0f} ms")
    assert latest <= 1.0


@pytest.mark.parametrize("leave", [close, reset])
@pytest.mark.parametrize("moment", WAITING)
def test_leaving_while_the_model_thinks_stops_it(
    gateway: Gateway, backend: ScriptedServer, moment: str, leave: Callable[[socket.socket], None]
) -> None:
    variant, stream = WAITING[moment]
    backend.use(variant, [{"text": "some words " * 10}])

    def leave_waiting(number: int) -> float:
        with connected(gateway.port) as sock:
            sock.sendall(request_bytes(chat_body(stream=stream, user=str(number))))
            backend.wait_for(lambda: _is_there(backend, number))
            time.sleep(0.05)
            leave(sock)
            return time.monotonic()

    check_all_closed(backend, many(leave_waiting))


def _is_there(backend: ScriptedServer, number: int) -> bool:
    # Cheap, because the backend that notices who has left is in this process.
    user = b'"user":"%d"' % number
    return any(user in request.body for request in list(backend.requests))


@pytest.mark.parametrize("leave", [close, reset])
@pytest.mark.parametrize("variant", ["hang_mid", "slow:20"])
def test_leaving_in_the_middle_of_a_stream_stops_the_model(
    gateway: Gateway,
    backend: ScriptedServer,
    variant: str,
    leave: Callable[[socket.socket], None],
) -> None:
    backend.use(variant, [{"text": "some words " * 100}])

    def leave_reading(number: int) -> float:
        with connected(gateway.port) as sock:
            sock.sendall(request_bytes(chat_body(stream=True, user=str(number))))
            assert b"some" in read_until(sock, b'"some')
            leave(sock)
            return time.monotonic()

    check_all_closed(backend, many(leave_reading))


@pytest.mark.parametrize("leave", [close, reset])
@pytest.mark.parametrize("sent", ["half the head", "half the body"])
def test_leaving_before_the_request_is_complete_reaches_no_backend(
    gateway: Gateway, backend: ScriptedServer, sent: str, leave: Callable[[socket.socket], None]
) -> None:
    backend.use("std", ["hi"])
    data = request_bytes(chat_body())
    cut = 60 if sent == "half the head" else len(data) - 20
    before = gateway.files

    def leave_sending(_: int) -> float:
        with connected(gateway.port) as sock:
            sock.sendall(data[:cut])
            time.sleep(0.01)
            leave(sock)
            return time.monotonic()

    many(leave_sending)
    backend.wait_for(lambda: gateway.files <= before, 1)
    assert backend.requests == []


def test_leaving_with_more_requests_in_the_pipe_makes_none_of_them(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("hang_first", ["hi"])
    with connected(gateway.port) as sock:
        sock.sendall(request_bytes(chat_body()) * 5)
        backend.wait_for(lambda: backend.requests)
    backend.wait_for(lambda: backend.requests[0].closed_at, 1)
    time.sleep(0.1)
    assert len(backend.requests) == 1


def test_clients_that_left_are_counted(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("hang_mid", [{"text": "some words " * 10}])
    for stream, mark in ((True, b'"some'), (False, b"")):
        with connected(gateway.port) as sock:
            sock.sendall(request_bytes(chat_body(stream=stream)))
            read_until(sock, mark)
            backend.wait_for(lambda: backend.requests)
        backend.wait_for(lambda: backend.requests[-1].closed_at, 1)
    metrics = ask(gateway.port, path="/metrics").body.decode()
    assert 'toolwire_clients_gone_total{moment="streaming"}' in metrics
    assert 'toolwire_clients_gone_total{moment="waiting"}' in metrics
    assert "toolwire_requests_in_flight 1.0" in metrics  # this very request


def test_pass_through_stops_as_well(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("hang_first", ["hi"])
    with connected(gateway.port) as sock:
        body = {"model": "m", "prompt": "hi"}
        sock.sendall(request_bytes(body, path="/v1/completions"))
        backend.wait_for(lambda: backend.requests)
        left = time.monotonic()
    backend.wait_for(lambda: backend.requests[0].closed_at, 1)
    assert backend.requests[0].closed_at is not None
    assert backend.requests[0].closed_at - left <= 1.0
