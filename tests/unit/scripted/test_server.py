"""The server keeps to HTTP where it is not told to break it, and records what reaches it."""

import asyncio
import http.client
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.scripted import ScriptedServer


@pytest.fixture(scope="module")
def running() -> Iterator[ScriptedServer]:
    with ScriptedServer() as started:
        yield started


@pytest.fixture
def server(running: ScriptedServer) -> ScriptedServer:
    running.use("std", "echo")
    return running


def connect(server: ScriptedServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)


def exchange(
    connection: http.client.HTTPConnection, method: str, path: str, body: Any = None
) -> tuple[int, Any]:
    connection.request(method, path, json.dumps(body) if body is not None else None)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def chat(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def content(answer: tuple[int, Any]) -> str:
    text: str = answer[1]["choices"][0]["message"]["content"]
    return text


def test_one_connection_carries_many_requests(server: ScriptedServer) -> None:
    connection = connect(server)
    for text in ("one", "two", "three"):
        assert content(exchange(connection, "POST", "/v1/chat/completions", chat(text))) == text
    connection.close()


def test_requests_sent_ahead_are_answered_in_order(server: ScriptedServer) -> None:
    bodies = [json.dumps(chat(text)).encode() for text in ("first", "second")]
    with socket.create_connection(("127.0.0.1", server.port)) as sock:
        for body, keep in zip(bodies, ("keep-alive", "close"), strict=True):
            head = f"connection: {keep}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\n" + head + body)
        data = b"".join(iter(lambda: sock.recv(65536), b""))
    assert data.index(b'"first"') < data.index(b'"second"')


def test_a_chunked_request_body_is_read(server: ScriptedServer) -> None:
    connection = connect(server)
    pieces = iter([b'{"messages": [{"role": "user", ', b'"content": "in pieces"}]}'])
    connection.request("POST", "/v1/chat/completions", pieces, encode_chunked=True)
    response = connection.getresponse()
    assert content((200, json.loads(response.read()))) == "in pieces"
    connection.close()


def test_a_client_that_waits_for_continue_is_told_to_go_on(server: ScriptedServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as sock:
        sock.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nexpect: 100-continue\r\n"
            b"connection: close\r\ncontent-length: 2\r\n\r\n"
        )
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"{}")
        assert sock.recv(100).startswith(b"HTTP/1.1 200 OK")


def test_what_reaches_the_server_is_recorded(server: ScriptedServer) -> None:
    before = time.monotonic()
    connection = connect(server)
    exchange(connection, "POST", "/v1/chat/completions?x=1", chat("hi"))
    connection.close()
    [seen] = server.requests
    assert (seen.method, seen.path, seen.json) == ("POST", "/v1/chat/completions?x=1", chat("hi"))
    assert seen.headers["accept-encoding"] == "identity"
    server.wait_for(lambda: seen.finished_at)
    assert before < seen.at < (seen.finished_at or 0) < time.monotonic()
    assert seen.closed_at is None


def test_another_variant_starts_another_record(server: ScriptedServer) -> None:
    connection = connect(server)
    exchange(connection, "POST", "/v1/chat/completions", chat("hi"))
    old = server.requests
    server.use("std", ["changed"])
    assert server.requests == []
    assert len(old) == 1
    assert content(exchange(connection, "POST", "/v1/chat/completions", chat("hi"))) == "changed"
    connection.close()


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/v1/models", None, {"object": "list"}),
        ("GET", "/v1/models/any/name", None, {"object": "model", "id": "any/name"}),
        ("POST", "/v1/embeddings", {"model": "m", "input": ["a", "bc"]}, {"object": "list"}),
        ("POST", "/v1/completions", {"model": "m", "prompt": "p"}, {"object": "text_completion"}),
    ],
)
def test_the_other_endpoints_answer(
    server: ScriptedServer, method: str, path: str, body: Any, expected: dict[str, Any]
) -> None:
    connection = connect(server)
    status, answer = exchange(connection, method, path, body)
    connection.close()
    assert status == 200
    assert expected.items() <= answer.items()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/v1/model/info", None, 404),
        ("POST", "/v1/nothing", {}, 404),
        ("POST", "/v1/chat/completions", [1, 2], 400),
        ("POST", "/_scripted/variant", {"variant": "nope"}, 400),
    ],
)
def test_what_it_cannot_answer_gets_an_error_in_openais_form(
    server: ScriptedServer, method: str, path: str, body: Any, status: int
) -> None:
    connection = connect(server)
    given, answer = exchange(connection, method, path, body)
    connection.close()
    assert given == status
    assert set(answer["error"]) == {"message", "type", "param", "code"}


def test_a_key_is_demanded_when_one_is_set() -> None:
    with ScriptedServer(key="sk-right") as server:
        connection = connect(server)
        assert exchange(connection, "GET", "/v1/models")[0] == 401
        connection.request("GET", "/v1/models", headers={"Authorization": "Bearer sk-right"})
        assert connection.getresponse().status == 200
        connection.close()


def test_it_runs_in_the_tests_own_loop_too() -> None:
    async def run() -> list[str]:
        async with ScriptedServer("hang_headers", "echo") as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}")
            await asyncio.to_thread(server.wait_for, lambda: server.requests)
            paths = [request.path for request in server.requests]
        with pytest.raises(ConnectionResetError):  # what hangs is dropped with the server
            await reader.read()
        writer.close()
        return paths

    assert asyncio.run(asyncio.wait_for(run(), 5)) == ["/v1/chat/completions"]


def test_waiting_for_what_never_comes_ends(server: ScriptedServer) -> None:
    with pytest.raises(TimeoutError):
        server.wait_for(lambda: False, 0.01)


def test_a_port_that_is_taken_is_an_error_at_the_start(server: ScriptedServer) -> None:
    with pytest.raises(OSError, match="address already in use"), ScriptedServer(port=server.port):
        pass
