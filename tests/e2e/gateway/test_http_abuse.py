"""Whatever is sent instead of HTTP is refused before it can do harm, and only what was really
asked for reaches the backend (R7)."""

import json
import socket
from http.client import HTTPConnection

import pytest
from tests.e2e.gateway.contract import read
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.wire import (
    CHAT,
    Reply,
    ask,
    chat_body,
    connected,
    read_reply,
    read_to_end,
    read_until,
    request_bytes,
    statuses,
)
from tests.scripted import ScriptedServer

MIB = 1 << 20
BODY = json.dumps(chat_body()).encode()
START = f"POST {CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n".encode()
LENGTH = b"content-length: %d\r\n" % len(BODY)
CHUNKED = b"transfer-encoding: chunked\r\n"
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
SMUGGLED = START + LENGTH + b"\r\n" + BODY


def get(path: bytes, *lines: bytes) -> bytes:
    """A GET as bytes."""
    return b"\r\n".join([b"GET %b HTTP/1.1" % path, b"host: localhost", *lines, b"", b""])


REFUSED: dict[str, tuple[int, bytes]] = {
    # Two opinions about where the body ends.
    "length and chunks": (400, START + LENGTH + CHUNKED + b"\r\n0\r\n\r\n" + SMUGGLED),
    "chunks and length": (400, START + CHUNKED + LENGTH + b"\r\n" + CHUNKS + SMUGGLED),
    "two lengths": (400, START + LENGTH + b"content-length: 5\r\n\r\n" + BODY + SMUGGLED),
    "the same length twice": (400, START + LENGTH + LENGTH + b"\r\n" + BODY),
    "a list of lengths": (400, START + b"content-length: 5, 5\r\n\r\n" + BODY),
    "a length with a sign": (400, START + b"content-length: +5\r\n\r\n" + BODY),
    "a negative length": (400, START + b"content-length: -5\r\n\r\n" + BODY),
    "a hexadecimal length": (400, START + b"content-length: 0x5\r\n\r\n" + BODY),
    "a length of 26 digits": (400, START + b"content-length: " + b"9" * 26 + b"\r\n\r\n"),
    "an empty length": (400, START + b"content-length: \r\n\r\n" + BODY),
    "a space before the colon": (
        400,
        START + b"transfer-encoding : chunked\r\n\r\n" + CHUNKS + SMUGGLED,
    ),
    "an unknown coding": (501, START + b"transfer-encoding: xchunked\r\n\r\n" + CHUNKS + SMUGGLED),
    "chunked is not last": (
        400,
        START + b"transfer-encoding: chunked, identity\r\n\r\n" + CHUNKS + SMUGGLED,
    ),
    "a coding before chunked": (
        501,
        START + b"transfer-encoding: gzip, chunked\r\n\r\n" + CHUNKS + SMUGGLED,
    ),
    "chunked in HTTP/1.0": (
        400,
        START.replace(b"1.1", b"1.0") + CHUNKED + b"\r\n" + CHUNKS + SMUGGLED,
    ),
    "chunked twice": (400, START + CHUNKED + CHUNKED + b"\r\n" + CHUNKS),
    "chunked after a vertical tab": (
        400,
        START + b"transfer-encoding: \x0bchunked\r\n\r\n" + CHUNKS + SMUGGLED,
    ),
    # Lines that are no lines.
    "bare line feeds": (400, (START + LENGTH + b"\r\n").replace(b"\r\n", b"\n") + BODY),
    "one bare line feed": (400, START + b"a: b\n" + LENGTH + b"\r\n" + BODY),
    "a bare carriage return": (400, START + b"a: b\rc: d\r\n" + LENGTH + b"\r\n" + BODY),
    "a folded header": (400, START + b"a: b\r\n c\r\n" + LENGTH + b"\r\n" + BODY),
    "a fold before the first header": (400, b"GET /healthz HTTP/1.1\r\n host: x\r\n\r\n"),
    "a space in a header's name": (400, START + b"a b: c\r\n" + LENGTH + b"\r\n" + BODY),
    "a zero byte in a header": (400, START + b"a: b\0c\r\n" + LENGTH + b"\r\n" + BODY),
    "a header without a colon": (400, START + b"abc\r\n" + LENGTH + b"\r\n" + BODY),
    "a header without a name": (400, START + b": abc\r\n" + LENGTH + b"\r\n" + BODY),
    # Two opinions about where the request goes, or none.
    "no Host": (400, b"GET /healthz HTTP/1.1\r\n\r\n"),
    "two Hosts": (400, get(b"/healthz", b"host: y")),
    "the same Host twice": (400, get(b"/healthz", b"host: localhost")),
    "an authority that is not the Host": (400, get(b"http://evil.example/healthz")),
    # What nobody can do.
    "an unknown expectation": (417, START + LENGTH + b"expect: a-miracle\r\n\r\n" + BODY),
    # Too much.
    "a header of 200 KB": (431, START + b"a: " + b"x" * 200_000 + b"\r\n" + LENGTH + b"\r\n"),
    "a target of 200 KB": (431, get(b"/" + b"x" * 200_000)),
    "1001 headers": (431, START + b"".join(b"a%d: b\r\n" % n for n in range(1001)) + b"\r\n"),
    "1001 headers of one name": (431, START + b"a: b\r\n" * 1001 + LENGTH + b"\r\n" + BODY),
    "101 trailers": (431, START + CHUNKED + b"\r\n0\r\n" + b"x: y\r\n" * 101 + b"\r\n"),
    "an endless trailer": (431, START + CHUNKED + b"\r\n0\r\nx: " + b"y" * (12 * MIB)),
    # Chunks that are no chunks.
    "a negative chunk": (400, START + CHUNKED + b"\r\n-5\r\n" + BODY),
    "a chunk with a sign": (400, START + CHUNKED + b"\r\n+5\r\nabcde\r\n0\r\n\r\n"),
    "a chunk size with 0x": (400, START + CHUNKED + b"\r\n0x5\r\nabcde\r\n0\r\n\r\n"),
    "a chunk size over 64 bits": (400, START + CHUNKED + b"\r\n" + b"f" * 17 + b"\r\nabcde\r\n"),
    "a chunk size that is no number": (400, START + CHUNKED + b"\r\nzz\r\nabcde\r\n0\r\n\r\n"),
    "a space after a chunk size": (400, START + CHUNKED + b"\r\n5 \r\nabcde\r\n0\r\n\r\n"),
    "a chunk that is longer than it says": (
        400,
        START + CHUNKED + b"\r\n5\r\nabcdeXX0\r\n\r\n" + SMUGGLED,
    ),
    "a line feed after a chunk extension": (
        400,
        START + CHUNKED + b"\r\n%x;a=b\n%b\r\n0\r\n\r\n" % (len(BODY), BODY),
    ),
    "chunks with bare line feeds": (
        400,
        START + CHUNKED + b"\r\n%x\n%b\n0\n\n" % (len(BODY), BODY),
    ),
    # Something else altogether.
    "a TLS greeting": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100),
    "words": (400, b"hello there\r\n\r\n"),
    "HTTP/0.9": (400, b"GET /healthz\r\n\r\n"),
    "an HTTP/2 preface": (400, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/2.0 in the request line": (400, get(b"/healthz").replace(b"1.1", b"2.0")),
    "HTTP/9.9": (400, get(b"/healthz").replace(b"1.1", b"9.9")),
    "a method in small letters": (400, get(b"/healthz").lower()),
    "an unknown method": (400, get(b"/healthz").replace(b"GET", b"FOO")),
    "a space in the target": (400, get(b"/heal thz")),
    "CONNECT": (400, b"CONNECT evil:443 HTTP/1.1\r\nhost: evil:443\r\n\r\n"),
}

NOWHERE = {
    "absolute form of another scheme": b"ftp://x/v1/models",
    "absolute form with a user": b"http://user@x/v1/models",
    "two slashes": b"//v1/models",
    "an escaped dot": b"/v1/%2e%2e/admin",
    "an escaped dot first": b"/%2e%2e/v1/models",
    "an escaped slash": b"/v1%2fmodels",
    "dots": b"/v1/../admin",
    "an empty segment": b"/v1//models",
    "a semicolon": b"/v1;x/models",
    "a backslash": b"/v1\\models",
    "an asterisk": b"*",
    "an at sign": b"/v1/@evil.example/models",
}
"""Targets that lead nowhere: a 404, and not a byte to the backend."""


@pytest.fixture(autouse=True)
def _backend_says_hi(backend: ScriptedServer) -> None:
    backend.use("std", ["hi"])


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_that_can_be_read_two_ways_or_is_too_much_is_refused(
    gateway: Gateway, backend: ScriptedServer, name: str
) -> None:
    status, data = REFUSED[name]
    with connected(gateway.port) as sock:
        sock.sendall(data)
        reply = read_to_end(sock)
    assert statuses(reply) == [status]
    head, _, body = reply.partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert Reply(status, {}, body).error["type"] == "invalid_request_error"
    assert backend.requests == []


@pytest.mark.parametrize("name", NOWHERE)
def test_a_target_in_another_form_leads_nowhere(
    gateway: Gateway, backend: ScriptedServer, name: str
) -> None:
    with connected(gateway.port) as sock:
        sock.sendall(get(NOWHERE[name], b"connection: close"))
        reply = read_to_end(sock)
    assert statuses(reply) == [404]
    assert Reply(404, {}, reply.partition(b"\r\n\r\n")[2]).error["code"] == "not_found"
    assert backend.requests == []


def test_a_target_in_absolute_form_is_found(gateway: Gateway, backend: ScriptedServer) -> None:
    target = f"POST http://LocalHost{CHAT} ".encode()
    with connected(gateway.port) as sock:
        sock.sendall(SMUGGLED.replace(f"POST {CHAT} ".encode(), target, 1))
        sock.sendall(get(b"http://localhost/healthz", b"connection: close"))
        assert statuses(read_to_end(sock)) == [200, 200]
    assert len(backend.requests) == 1


def test_of_many_requests_sent_at_once_the_last_that_is_answered_says_so(gateway: Gateway) -> None:
    with connected(gateway.port) as sock:
        sock.sendall(get(b"/v1/models") * 40)
        reply = read_to_end(sock)
    assert len(statuses(reply)) >= 17
    assert set(statuses(reply)) == {200}
    assert b"connection: close" in reply[reply.rindex(b"HTTP/1.1") :]


def test_health_probes_sent_at_once_are_all_answered(gateway: Gateway) -> None:
    with connected(gateway.port) as sock:
        sock.sendall(get(b"/healthz") * 39 + get(b"/healthz", b"connection: close"))
        assert statuses(read_to_end(sock)) == [200] * 40


def test_ten_megabytes_of_trailers_cost_next_to_nothing(gateway: Gateway) -> None:
    used = gateway.cpu
    with connected(gateway.port) as sock:
        sock.sendall(START + CHUNKED + b"\r\n0\r\n" + b"a:b\r\n" * 2_000_000)
        assert statuses(read_to_end(sock)) == [431]
    assert gateway.cpu - used < 1


def test_two_requests_sent_at_once_are_answered_in_order(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", "echo")
    asked = [chat_body(messages=[{"role": "user", "content": word}]) for word in ("one", "two")]
    closing = request_bytes(asked[1], "connection: close")
    with connected(gateway.port) as sock:
        sock.sendall(request_bytes(asked[0]) + closing)
        reply = read_to_end(sock)
    assert statuses(reply) == [200, 200]
    assert reply.index(b'"content":"one"') < reply.index(b'"content":"two"')
    assert len(backend.requests) == 2


def test_a_request_in_single_bytes_is_read(gateway: Gateway) -> None:
    with connected(gateway.port) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in request_bytes(chat_body(), "connection: close"):
            sock.sendall(bytes([byte]))
        assert statuses(read_to_end(sock)) == [200]


@pytest.mark.parametrize("chunked", [True, False])
def test_expect_100_continue_is_answered(gateway: Gateway, chunked: bool) -> None:
    framing, body = (CHUNKED, CHUNKS) if chunked else (LENGTH, BODY)
    with connected(gateway.port) as sock:
        sock.sendall(START + framing + b"expect: 100-continue\r\nconnection: close\r\n\r\n")
        assert read_until(sock, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(body)
        assert statuses(read_to_end(sock)) == [200]


def test_expect_100_continue_of_too_large_a_body_is_refused_at_once(gateway: Gateway) -> None:
    with connected(gateway.port) as sock:
        sock.sendall(START + b"content-length: 99999999\r\nexpect: 100-continue\r\n\r\n")
        assert statuses(read_to_end(sock)) == [413]


@pytest.mark.parametrize("stream", [True, False])
def test_http_1_0_gets_an_answer_that_ends_with_the_connection(
    gateway: Gateway, stream: bool
) -> None:
    data = request_bytes(chat_body(stream=stream)).replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    with connected(gateway.port) as sock:
        sock.sendall(data)
        head, _, body = read_to_end(sock).partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head
    assert head.count(b"connection: close") == 1
    kind = "text/event-stream" if stream else "application/json"
    assert read(Reply(200, {"content-type": kind}, body)).content == "hi"


def test_a_chunked_request_with_extensions_and_trailers_is_read(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    text = "x" * 100_000
    body = json.dumps(chat_body(messages=[{"role": "user", "content": text}])).encode()
    trailers = b"authorization: Bearer trailer\r\nx: y\r\n"
    data = b"%x;name=value\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, trailers)
    with connected(gateway.port) as sock:
        sock.sendall(START + CHUNKED + b"connection: close\r\n\r\n" + data)
        assert statuses(read_to_end(sock)) == [200]
    assert backend.requests[0].json["messages"][0]["content"] == text


def test_an_offer_of_http_2_is_declined_and_the_request_answered(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    offer = (
        "connection: Upgrade, HTTP2-Settings",
        "upgrade: h2c",
        "http2-settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
    )
    with connected(gateway.port) as sock:
        for _ in range(2):
            sock.sendall(request_bytes(chat_body(), *offer))
            assert statuses(read_until(sock, b"completion_tokens")) == [200]
        sock.sendall(get(b"/healthz", b"connection: upgrade, close", b"upgrade: websocket"))
        assert statuses(read_to_end(sock)) == [200]
    assert len(backend.requests) == 2


def test_a_body_that_says_it_is_too_large_gets_a_413_that_a_sending_client_can_read(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    reply = ask(gateway.port, b"x" * (11 * MIB))
    assert reply.status == 413
    assert reply.error["code"] == "request_too_large"
    assert backend.requests == []


def test_a_chunked_body_that_grows_too_large_gets_a_413_that_a_sending_client_can_read(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    before = gateway.memory
    with connected(gateway.port) as sock:
        sock.sendall(START + CHUNKED + b"\r\n")
        for _ in range(40):
            sock.sendall(b"%x\r\n%b\r\n" % (MIB, b"x" * MIB))
        assert statuses(read_to_end(sock)) == [413]
    assert backend.requests == []
    assert gateway.memory - before < 40 * 1024


def test_a_body_just_within_the_limit_is_taken(gateway: Gateway, backend: ScriptedServer) -> None:
    size = 10 * MIB - len(json.dumps(chat_body(messages=[{"role": "user", "content": ""}])))
    reply = ask(gateway.port, chat_body(messages=[{"role": "user", "content": "x" * size}]))
    assert reply.status == 200
    assert len(backend.requests[0].json["messages"][0]["content"]) == size


def test_a_connection_is_used_again_after_an_answer_and_after_an_error(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    connection = HTTPConnection("127.0.0.1", gateway.port, timeout=10)
    ports = set()
    for body, status in ((chat_body(), 200), (chat_body(messages=5), 400)) * 3:
        connection.request("POST", CHAT, json.dumps(body))
        assert read_reply(connection.getresponse()).status == status
        ports.add(connection.sock.getsockname())
    connection.close()
    assert len(ports) == 1
    assert len(backend.requests) == 3
