"""A failed backend is asked again, or another one is, before the client has seen anything."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.e2e.gateway.contract import Outcome, read
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import Reply, ask, chat_body
from tests.scripted import ScriptedServer

CONFIG = """
[retries]
attempts = 2
backoff = 0.01
max_retry_after = 2
"""
SCRIPT = ["an answer of some words"]
TEXT = SCRIPT[0]


def send(gateway: Gateway, *, stream: bool = False) -> Reply:
    """Ask once."""
    return ask(gateway.port, chat_body(stream=stream))


def answer(gateway: Gateway, *, stream: bool = False) -> Outcome:
    """Ask once, and read the answer."""
    return read(send(gateway, stream=stream))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    "variant",
    [
        "err500",
        "err500:2",
        "err503:2",
        "html502:2",
        "html503",
        "refuse",
        "refuse:2",
        "empty200:2",
        "eof_early",
        "cut_early:2",
    ],
)
def test_a_failure_before_the_first_word_is_healed(
    gateway: Gateway, backend: ScriptedServer, variant: str, stream: bool
) -> None:
    backend.use(variant, SCRIPT)
    assert answer(gateway, stream=stream).content == TEXT
    assert 2 <= len(backend.requests) <= 4


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("variant", "status"),
    [
        ("err500_always", 502),
        ("html502:always", 502),
        ("empty200:always", 502),
        ("cut_early:always", 503),
        ("refuse:always", 503),
        ("garbage_json", 502),
    ],
)
def test_there_are_never_more_attempts_than_configured(
    gateway: Gateway, backend: ScriptedServer, variant: str, status: int, stream: bool
) -> None:
    backend.use(variant, SCRIPT)
    outcome = answer(gateway, stream=stream)
    assert outcome.status == status
    # One more may go to a kept connection that turns out to be dead.
    assert len(backend.requests) in ((3, 4) if variant == "refuse:always" else (3,))


def test_kept_connections_do_not_add_to_the_attempts(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("silence:0.2", SCRIPT)
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: send(gateway), range(10)))
    backend.use("refuse:always", SCRIPT)
    assert answer(gateway).status == 503
    assert len(backend.requests) == 4  # the first kept one may have been dead, and then three


@pytest.mark.parametrize("variant", ["err400", "err401", "err404", "ctxlen", "redirect"])
def test_a_refusal_is_final(gateway: Gateway, backend: ScriptedServer, variant: str) -> None:
    backend.use(variant, SCRIPT)
    assert answer(gateway).error is not None
    assert len(backend.requests) == 1


@pytest.mark.parametrize("variant", ["midstream_cut:always", "midstream_error:always"])
def test_nothing_is_asked_again_once_the_client_has_seen_a_word(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    backend.use(f"{variant}+slow:20", SCRIPT)
    outcome = answer(gateway, stream=True)
    assert outcome.content.startswith("an answer")
    assert outcome.error is not None
    assert f"The backend '127.0.0.1:{backend.port}' failed" in outcome.error["message"]
    assert "Send the request again" in outcome.error["message"]
    assert len(backend.requests) == 1


def test_retry_after_is_obeyed(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("err429", SCRIPT)
    began = time.monotonic()
    assert answer(gateway).content == TEXT
    assert 1.0 <= time.monotonic() - began < 2.5
    first, second = backend.requests
    assert second.at - first.at >= 1.0


@pytest.mark.parametrize("stream", [True, False])
def test_a_long_retry_after_is_passed_on(
    gateway: Gateway, backend: ScriptedServer, stream: bool
) -> None:
    backend.use("err429_retry7", SCRIPT)
    reply = send(gateway, stream=stream)
    assert reply.status == 429
    assert reply.headers["retry-after"] == "7"
    assert reply.error["code"] == "rate_limit_exceeded"
    assert len(backend.requests) == 1


def test_retries_are_counted(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("err500", SCRIPT)
    send(gateway)
    metrics = ask(gateway.port, path="/metrics").body.decode()
    label = f'{{backend="127.0.0.1:{backend.port}",'
    assert f'toolwire_retries_total{label}reason="upstream_error"}}' in metrics
    assert f'toolwire_backend_errors_total{label}kind="upstream_error"}}' in metrics


@pytest.mark.parametrize("variant", ["silent_close", "said_close"])
def test_a_connection_that_the_backend_closed_is_not_a_failure(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    backend.use(variant, SCRIPT)
    for _ in range(20):
        assert answer(gateway).content == TEXT
    assert len(backend.requests) == 20


# Two backends.


@pytest.fixture(scope="module")
def second() -> Iterator[ScriptedServer]:
    """Another scripted model."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def pair(backend: ScriptedServer, second: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire with two backends for every model; a fresh one, as it remembers failures."""
    backend.use("std", SCRIPT)
    second.use("std", SCRIPT)
    with running("--upstream", backend.url, "--upstream", second.url, config=CONFIG) as process:
        yield process


def test_a_backend_that_refuses_connections_is_passed_over(second: ScriptedServer) -> None:
    second.use("std", SCRIPT)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with running("--upstream", dead, "--upstream", second.url) as gateway:
            began = time.monotonic()
            replies = [send(gateway) for _ in range(10)]
    assert [reply.status for reply in replies] == [200] * 10
    assert {reply.headers["toolwire-backend"] for reply in replies} == {f"127.0.0.1:{second.port}"}
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    "variant",
    ["err500_always", "err429_retry7", "refuse:always", "err401", "err_key:403", "err404"],
)
def test_another_backend_takes_over_at_once_and_the_failed_one_is_left_alone(
    pair: Gateway, backend: ScriptedServer, second: ScriptedServer, variant: str
) -> None:
    backend.use(variant, SCRIPT)
    began = time.monotonic()
    replies = [send(pair, stream=True) for _ in range(6)]
    assert [read(reply).content for reply in replies] == [TEXT] * 6
    assert {reply.headers["toolwire-backend"] for reply in replies} == {f"127.0.0.1:{second.port}"}
    assert len(backend.requests) == 1
    assert time.monotonic() - began < 2


def test_the_backend_with_the_least_to_do_is_chosen(
    pair: Gateway, backend: ScriptedServer, second: ScriptedServer
) -> None:
    backend.use("silence:0.5", SCRIPT)
    second.use("silence:0.5", SCRIPT)
    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(lambda _: send(pair).status, range(20)))
    assert statuses == [200] * 20
    assert (len(backend.requests), len(second.requests)) == (10, 10)


def test_a_busy_backend_gets_nothing_while_another_is_free(
    pair: Gateway, backend: ScriptedServer, second: ScriptedServer
) -> None:
    backend.use("silence:1", SCRIPT)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(send, pair)
        backend.wait_for(lambda: backend.requests)
        assert [send(pair).headers["toolwire-backend"] for _ in range(5)] == [
            f"127.0.0.1:{second.port}"
        ] * 5
        assert slow.result().status == 200
    assert len(backend.requests) == 1


def test_when_all_fail_the_error_says_so(
    pair: Gateway, backend: ScriptedServer, second: ScriptedServer
) -> None:
    backend.use("err500_always", SCRIPT)
    second.use("err500_always", SCRIPT)
    outcome = answer(pair)
    assert outcome.status == 502
    assert outcome.error is not None
    assert "overloaded" in outcome.error["message"]
    assert len(backend.requests) + len(second.requests) == 3
