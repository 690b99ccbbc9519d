"""Each time limit ends a turn with the documented error, and silence is told to the client."""

import socket
import time
from collections.abc import Iterator

import pytest
from tests.e2e.gateway.contract import Outcome, read
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask, chat_body
from tests.scripted import ScriptedServer

CONFIG = """
[timeouts]
connect = 0.4
first_token = 0.8
idle = 0.8
total = 2.0
keepalive = 10
[retries]
attempts = 0
"""
KEEPALIVE = """
[timeouts]
keepalive = 0.1
"""
PATIENT = """
[timeouts]
first_token = 0.3
[[models]]
name = "*"
backend = {{ url = "{url}", timeouts = {{ first_token = 5.0 }} }}
"""
SCRIPT = [{"text": "some words to be said one after the other"}]


def answer(gateway: Gateway, *, stream: bool = False) -> tuple[Outcome, float]:
    """Ask, and tell how long the answer took."""
    began = time.monotonic()
    outcome = read(ask(gateway.port, chat_body(stream=stream)))
    return outcome, time.monotonic() - began


def is_timeout(outcome: Outcome, words: str) -> bool:
    """Whether it is the error of a backend that was too slow, in these words."""
    error = outcome.error or {}
    return error.get("code") == "upstream_timeout" and words in error["message"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("variant", ["hang_headers", "hang_first"])
def test_a_backend_that_says_nothing_is_given_up_after_first_token(
    gateway: Gateway, backend: ScriptedServer, variant: str, stream: bool
) -> None:
    backend.use(variant, SCRIPT)
    outcome, seconds = answer(gateway, stream=stream)
    assert outcome.status == 504
    assert is_timeout(outcome, "0.8 s")
    assert 0.8 <= seconds < 2
    backend.wait_for(lambda: backend.requests[0].closed_at, 1)


def test_a_backend_that_falls_silent_is_given_up_after_idle(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("hang_mid", SCRIPT)
    outcome, seconds = answer(gateway, stream=True)
    assert outcome.status == 200
    assert outcome.content == "some words to be said "
    assert is_timeout(outcome, "silent for 0.8 s")
    assert 0.8 <= seconds < 2
    backend.wait_for(lambda: backend.requests[0].closed_at, 1)


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_without_end_is_given_up_after_total(
    gateway: Gateway, backend: ScriptedServer, stream: bool
) -> None:
    backend.use("stream_force+slow:50", [{"text": "word " * 200}])
    outcome, seconds = answer(gateway, stream=stream)
    assert outcome.status == (200 if stream else 504)
    assert is_timeout(outcome, "did not finish within 2 s")
    assert 2 <= seconds < 4


def test_a_slow_answer_within_the_limits_is_delivered(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("slow:100", SCRIPT)
    outcome, _ = answer(gateway, stream=True)
    assert outcome.error is None
    assert outcome.content == SCRIPT[0]["text"]


def test_a_backend_that_does_not_accept_connections_is_given_up_after_connect() -> None:
    with _full_backlog() as url, running("--upstream", url, config=CONFIG) as gateway:
        outcome, seconds = answer(gateway)
    assert outcome.status == 504
    assert is_timeout(outcome, "did not accept a connection within 0.4 s")
    assert 0.4 <= seconds < 2


class _full_backlog:  # noqa: N801 - reads as a verb
    """A port that listens but takes no more connections."""

    def __enter__(self) -> str:
        self._sock = socket.socket()
        self._sock.bind(("127.0.0.1", 0))
        self._sock.listen(0)
        address = self._sock.getsockname()
        self._clients = [socket.socket() for _ in range(4)]
        for client in self._clients:
            client.setblocking(False)
            client.connect_ex(address)
        time.sleep(0.1)
        return f"http://127.0.0.1:{address[1]}/v1"

    def __exit__(self, *_: object) -> None:
        for sock in (*self._clients, self._sock):
            sock.close()


@pytest.mark.parametrize("variant", ["hang_headers", "hang_first"])
def test_a_passed_on_request_is_given_up_too(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    backend.use(variant)
    body = {"model": "m", "prompt": "Once"}
    began = time.monotonic()
    reply = ask(gateway.port, body, path="/v1/completions")
    assert (reply.status, reply.complete) in ((504, True), (200, False))
    assert 0.8 <= time.monotonic() - began < 2
    backend.wait_for(lambda: backend.requests[0].closed_at, 1)


def test_a_list_of_models_that_never_comes_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with running("--upstream", url, config=CONFIG) as gateway:
            reply = ask(gateway.port, path="/v1/models")
    assert reply.status == 504
    assert reply.error["code"] == "upstream_timeout"


@pytest.fixture(scope="module")
def chatty(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that says every tenth of a second that it is still there."""
    with running("--upstream", backend.url, config=KEEPALIVE) as process:
        yield process


@pytest.mark.parametrize("variant", ["silence", "silence_headers", "silence_mid"])
def test_silence_is_filled_with_comments(
    chatty: Gateway, backend: ScriptedServer, variant: str
) -> None:
    backend.use(f"{variant}:1.5", SCRIPT)
    reply = ask(chatty.port, chat_body(stream=True))
    assert read(reply).content == SCRIPT[0]["text"]
    assert 4 <= reply.body.count(b": keepalive\n\n") <= 16
    before = reply.body.index(b": keepalive") < reply.body.index(b"data:")
    assert before == (variant != "silence_mid")


def test_an_answer_that_is_not_silent_has_no_comments(
    chatty: Gateway, backend: ScriptedServer
) -> None:
    backend.use("slow:20", SCRIPT)
    assert b"keepalive" not in ask(chatty.port, chat_body(stream=True)).body


def test_a_whole_answer_has_no_comments(chatty: Gateway, backend: ScriptedServer) -> None:
    backend.use("silence:0.4", SCRIPT)
    reply = ask(chatty.port, chat_body())
    assert read(reply).content == SCRIPT[0]["text"]
    assert b"keepalive" not in reply.body


def test_after_a_comment_an_error_is_an_event(chatty: Gateway, backend: ScriptedServer) -> None:
    backend.use("err400+silence_headers:0.3", SCRIPT)
    outcome = read(ask(chatty.port, chat_body(stream=True)))
    assert outcome.status == 200
    assert outcome.error is not None
    assert outcome.error["code"] == "invalid_value"


def test_comments_do_not_prevent_a_retry(chatty: Gateway, backend: ScriptedServer) -> None:
    backend.use("err500+silence_headers:0.3", SCRIPT)
    outcome = read(ask(chatty.port, chat_body(stream=True)))
    assert outcome.content == SCRIPT[0]["text"]
    assert len(backend.requests) == 2


def test_a_backend_has_its_own_limits(backend: ScriptedServer) -> None:
    backend.use("silence:0.6", SCRIPT)
    with running(config=PATIENT.format(url=backend.url)) as gateway:
        outcome, _ = answer(gateway)
    assert outcome.content == SCRIPT[0]["text"]
