"""Each variant of the connection is played over a real socket and misbehaves as stated."""

import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.scripted import ScriptedServer
from tests.scripted.play import names_in
from tests.scripted.variants import breaks, connection

SAID = [{"text": "Hello there", "calls": [["write_file", {"path": "a.txt", "content": "b" * 40}]]}]
END = b"0\r\n\r\n"


@dataclass(frozen=True)
class Heard:
    """All that came over a connection, how it ended and how long the longest silence was."""

    data: bytes
    end: str
    silence: float

    @property
    def is_whole(self) -> bool:
        return b"[DONE]" in self.data and self.data.endswith(END)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def ask(server: ScriptedServer, *, stream: bool = True, keep: str = "close") -> Heard:
    """Ask over a connection of its own and listen until it ends or nothing more comes."""
    with socket.create_connection(("127.0.0.1", server.port)) as sock:
        sock.settimeout(0.8)
        send(sock, stream=stream, keep=keep)
        return listen(sock)


def send(sock: socket.socket, *, stream: bool = True, keep: str = "close") -> None:
    options = {"include_usage": True}
    body = json.dumps({"messages": [], "stream": stream, "stream_options": options}).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer sk-mine\r\n"
        f"connection: {keep}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    sock.sendall(head.encode() + body)


def listen(sock: socket.socket) -> Heard:
    data, silence, last = b"", 0.0, time.monotonic()
    while True:
        try:
            piece = sock.recv(65536)
        except TimeoutError:
            return Heard(data, "silent", silence)
        except ConnectionResetError:
            return Heard(data, "reset", silence)
        silence, last = max(silence, time.monotonic() - last), time.monotonic()
        if not piece:
            return Heard(data, "closed", silence)
        data += piece


BROKEN = {
    "midstream_cut": "reset",
    "midstream_close": "closed",
    "cut_in_call": "reset",
    "cut_early": "reset",
}
ENDED = {
    "eof_early": b'"usage": null}',
    "eof_in_call": b'"usage": null}',
    "done_in_call": b"data: [DONE]",
    "midstream_error": b'"param": null, "code": "scripted_failure"}}',
    "midstream_error_key": b'"type": "insufficient_quota", "param": null, "code": null}}',
    "midstream_error_event": b'event: error\ndata: {"message": "Scripted failure.", "code": 500}',
}
"""The last event of a stream whose body ends properly but too early."""
SILENT = {
    "hang_headers": [False, False, False],
    "hang_first": [True, False, False],
    "hang_mid": [True, True, False],
    "hang_end": [True, True, True],
}
"""What has been heard when they fall silent: the head, a part of the answer, its end."""
PAUSING = ("silence", "silence_headers", "silence_mid")
OTHER = ("slow", "refuse", "said_close", "silent_close")


def test_every_variant_of_the_connection_is_described_here() -> None:
    assert {*BROKEN, *ENDED, *SILENT, *PAUSING, *OTHER} == names_in(breaks) | names_in(connection)


def test_std_ends_its_body_and_keeps_the_connection(server: ScriptedServer) -> None:
    server.use("std", SAID)
    heard = ask(server, keep="keep-alive")
    assert heard.is_whole
    assert heard.end == "silent"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("name", "end"), BROKEN.items())
def test_a_broken_connection_ends_before_its_body(
    server: ScriptedServer, name: str, end: str, stream: bool
) -> None:
    server.use(name, SAID)
    heard = ask(server, stream=stream)
    assert heard.end == end
    assert heard.data.startswith(b"HTTP/1.1 200 OK")
    assert not heard.data.endswith((END, b"}"))
    assert b"[DONE]" not in heard.data


@pytest.mark.parametrize("name", ["cut_in_call", "eof_in_call", "done_in_call"])
def test_a_break_inside_a_call_comes_after_some_arguments(
    server: ScriptedServer, name: str
) -> None:
    server.use(name, SAID)
    data = ask(server).data
    assert data.count(b'"tool_calls": [') == 2
    assert b'"finish_reason": "tool_calls"' not in data


@pytest.mark.parametrize("name", ["cut_early", "eof_early"])
def test_an_early_break_comes_before_anything_is_said(server: ScriptedServer, name: str) -> None:
    server.use(name, SAID)
    data = ask(server).data
    assert data.count(b"data: ") == 1
    assert b'"role": "assistant"' in data


@pytest.mark.parametrize(("name", "last"), ENDED.items())
def test_a_stream_that_ends_too_early_ends_properly(
    server: ScriptedServer, name: str, last: bytes
) -> None:
    server.use(name, SAID)
    assert ask(server).data.endswith(last + b"\n\n\r\n" + END)


def test_an_error_in_the_middle_can_hold_the_key(server: ScriptedServer) -> None:
    server.use("midstream_error_key", SAID)
    assert b'"message": "Quota of key sk-mine is spent."' in ask(server).data


@pytest.mark.parametrize("name", [*BROKEN, *ENDED, "refuse"])
def test_a_break_happens_once(server: ScriptedServer, name: str) -> None:
    server.use(name, SAID)
    assert [b"completion_tokens" in ask(server).data for _ in range(2)] == [False, True]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("name", "marks"), SILENT.items())
def test_a_hanging_backend_is_silent_after_a_part_of_its_answer(
    server: ScriptedServer, name: str, marks: list[bool], stream: bool
) -> None:
    server.use(name, SAID)
    heard = ask(server, stream=stream)
    assert heard.end == "silent"
    assert [mark in heard.data for mark in (b"200 OK", b"choices", b"completion_tokens")] == marks
    assert not heard.data.endswith(END)


@pytest.mark.parametrize("name", SILENT)
def test_a_peer_that_leaves_a_hanging_backend_is_noticed_within_50_ms(
    server: ScriptedServer, name: str
) -> None:
    assert min(delay_until_noticed(server, name) for _ in range(3)) < 0.05
    assert server.requests[0].finished_at is None


@pytest.mark.parametrize("variant", ["slow:20", "flood:100000", "huge_line:512"])
def test_a_peer_that_leaves_in_the_middle_of_a_stream_is_noticed_within_50_ms(
    server: ScriptedServer, variant: str
) -> None:
    assert min(delay_until_noticed(server, variant) for _ in range(3)) < 0.05


def delay_until_noticed(server: ScriptedServer, variant: str) -> float:
    server.use(variant, SAID)
    with socket.create_connection(("127.0.0.1", server.port)) as sock:
        send(sock)
        server.wait_for(lambda: server.requests)
        time.sleep(0.05)
    left = time.monotonic()
    server.wait_for(lambda: server.requests[0].closed_at)
    return (server.requests[0].closed_at or 0) - left


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", PAUSING)
def test_a_silence_is_as_long_as_asked_and_then_comes_the_rest(
    server: ScriptedServer, name: str, stream: bool
) -> None:
    server.use(f"{name}:0.2", SAID)
    heard = ask(server, stream=stream)
    assert heard.silence > 0.18
    assert heard.is_whole or heard.data.endswith(b"}")


def test_slow_waits_before_every_event(server: ScriptedServer) -> None:
    server.use("slow:20", ["Hello"])
    heard = ask(server)
    assert heard.is_whole
    assert heard.silence > 0.015
    assert server.requests[0].finished_at is not None
    assert server.requests[0].finished_at - server.requests[0].at > 4 * 0.02


def test_refuse_resets_the_connection_before_any_byte(server: ScriptedServer) -> None:
    server.use("refuse", SAID)
    assert ask(server) == Heard(b"", "reset", 0.0)


@pytest.mark.parametrize("name", ["said_close", "silent_close"])
def test_the_connection_is_closed_after_a_whole_reply(server: ScriptedServer, name: str) -> None:
    server.use(name, SAID)
    heard = ask(server, keep="keep-alive")
    assert heard.is_whole
    assert heard.end == "closed"
    assert (b"connection: close" in heard.data) == (name == "said_close")
