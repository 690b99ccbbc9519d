"""The process stops in order, and says clearly why it does not start (R20)."""

import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.e2e.gateway.contract import Outcome, read
from tests.e2e.gateway.process import Gateway, run_and_fail, running
from tests.e2e.gateway.sizes import size
from tests.e2e.gateway.wire import ask, chat_body, connected, read_to_end, request_bytes, statuses
from tests.scripted import ScriptedServer

STREAMS = size(20, 100)
TEXT = "some words that are said one after the other, slowly"
STREAMS = size(20, 100)
STOP = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])


def serving(backend: ScriptedServer, grace: float) -> AbstractContextManager[Gateway]:
    """A Toolwire that gives its answers so many seconds when it is told to stop."""
    return running("--upstream", backend.url, config=f"[timeouts]\nshutdown = {grace}\n")


def stream(gateway: Gateway) -> Outcome:
    """Read a stream to its end."""
    return read(ask(gateway.port, chat_body(stream=True)))


@STOP
def test_without_traffic_it_stops_at_once(backend: ScriptedServer, number: signal.Signals) -> None:
    with running("--upstream", backend.url) as gateway, connected(gateway.port) as idle:
        ask(gateway.port, path="/healthz")
        began = time.monotonic()
        gateway.signal(number)
        assert gateway.wait(5) == 0
        assert time.monotonic() - began < 1.5
        assert read_to_end(idle) == b""
        assert "Traceback" not in gateway.log


def test_streams_under_way_finish_and_nothing_new_is_begun(backend: ScriptedServer) -> None:
    backend.use("slow:60", [TEXT])
    with serving(backend, grace=10) as gateway, ThreadPoolExecutor(STREAMS) as pool:
        streams = [pool.submit(stream, gateway) for _ in range(STREAMS)]
        backend.wait_for(lambda: len(backend.requests) == STREAMS)
        gateway.signal(signal.SIGTERM)
        gateway.wait_for_log("shutting down")
        reply = ask(gateway.port, chat_body())
        assert (reply.status, reply.error["code"]) == (503, "shutting_down")
        assert reply.headers["retry-after"] == "1"
        assert reply.headers["connection"] == "close"
        outcomes = [future.result() for future in streams]
        assert gateway.wait(2) == 0
    assert [outcome.content for outcome in outcomes] == [TEXT] * STREAMS
    assert all(outcome.error is None for outcome in outcomes)
    assert len(backend.requests) == STREAMS


def test_readiness_is_refused_while_it_stops_and_liveness_is_not(backend: ScriptedServer) -> None:
    backend.use("hang_mid", [TEXT])
    with serving(backend, grace=2) as gateway, ThreadPoolExecutor(1) as pool:
        assert ask(gateway.port, path="/readyz").status == 200
        pool.submit(stream, gateway)
        backend.wait_for(lambda: backend.requests)
        gateway.signal(signal.SIGTERM)
        gateway.wait_for_log("shutting down")
        ready = ask(gateway.port, path="/readyz")
        assert (ready.status, ready.json) == (503, {"status": "draining"})
        assert ask(gateway.port, path="/healthz").status == 200
        with connected(gateway.port):  # nor does a new connection hold it up
            assert gateway.wait(5) == 0


def test_streams_that_outlast_the_grace_get_an_error_event(backend: ScriptedServer) -> None:
    backend.use("hang_mid", [TEXT])
    with serving(backend, grace=0.5) as gateway, ThreadPoolExecutor(STREAMS) as pool:
        streams = [pool.submit(stream, gateway) for _ in range(STREAMS)]
        backend.wait_for(lambda: len(backend.requests) == STREAMS)
        time.sleep(0.2)
        began = time.monotonic()
        gateway.signal(signal.SIGTERM)
        outcomes = [future.result() for future in streams]
        assert gateway.wait(5) == 0
        assert 0.5 <= time.monotonic() - began < 3
        assert "Traceback" not in gateway.log
    assert {outcome.error["code"] for outcome in outcomes if outcome.error} == {"shutting_down"}
    assert all(outcome.error for outcome in outcomes)
    backend.wait_for(lambda: all(request.closed_at for request in backend.requests), 1)


def test_a_whole_answer_that_outlasts_the_grace_gets_a_503(backend: ScriptedServer) -> None:
    backend.use("hang_first", [TEXT])
    with serving(backend, grace=0.3) as gateway, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, gateway.port, chat_body())
        backend.wait_for(lambda: backend.requests)
        gateway.signal(signal.SIGTERM)
        reply = answer.result()
        assert gateway.wait(5) == 0
    assert reply.status == 503
    assert reply.error["code"] == "shutting_down"


def test_a_kept_connection_is_answered_and_then_closed(backend: ScriptedServer) -> None:
    backend.use("silence:0.5", ["hi"])
    with running("--upstream", backend.url) as gateway, connected(gateway.port) as sock:
        sock.sendall(request_bytes(chat_body()))
        backend.wait_for(lambda: backend.requests)
        gateway.signal(signal.SIGTERM)
        assert statuses(read_to_end(sock)) == [200]
        assert gateway.wait(3) == 0


def test_a_half_sent_request_does_not_hold_it_up(backend: ScriptedServer) -> None:
    with running("--upstream", backend.url) as gateway, connected(gateway.port) as sock:
        sock.sendall(request_bytes(chat_body())[:80])
        time.sleep(0.1)
        gateway.signal(signal.SIGTERM)
        assert gateway.wait(3) == 0


def test_a_second_interrupt_stops_it_at_once(backend: ScriptedServer) -> None:
    backend.use("hang_mid", [TEXT])
    with running("--upstream", backend.url) as gateway, ThreadPoolExecutor(1) as pool:
        pool.submit(ask, gateway.port, chat_body(stream=True))
        backend.wait_for(lambda: backend.requests)
        gateway.signal(signal.SIGINT)
        time.sleep(0.3)
        assert gateway.process.poll() is None
        began = time.monotonic()
        gateway.signal(signal.SIGINT)
        assert gateway.wait(5) == 130
        assert time.monotonic() - began < 1
        assert "Traceback" not in gateway.log


# What it says when it does not start.


def test_a_port_in_use_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, text = run_and_fail(tmp_path, "--upstream", "http://127.0.0.1:9/v1", "--port", port)
    assert code == 1
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use. Choose" in text
    assert "--port" in text
    assert len(text.strip().splitlines()) == 1


def test_an_unknown_flag_is_told(tmp_path: Path) -> None:
    code, text = run_and_fail(tmp_path, "--upstreem", "http://127.0.0.1:9/v1")
    assert code == 2
    assert "--upstreem" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("config", "place", "words"),
    [
        ("[[models]\n", "toolwire.toml:1:", "not valid TOML"),
        ("[timeouts]\nidel = 3\n", "toolwire.toml:2:", "idle"),
        ("[timeouts]\n\nidle = -3\n", "toolwire.toml:3:", "idle"),
        ('[[models]]\nname = "m"\nbackend = { url = "ftp://x" }\n', "toolwire.toml:", "http://"),
        (
            '[[models]]\nname = "m"\nbackend = { url = "http://x/v1", key_env = "NO_SUCH" }\n',
            "toolwire.toml:",
            "NO_SUCH",
        ),
        ("\x00", "toolwire.toml:1:", "not valid TOML"),
    ],
)
def test_an_error_in_the_file_is_told_with_its_line(
    tmp_path: Path, config: str, place: str, words: str
) -> None:
    code, text = run_and_fail(tmp_path, config=config)
    assert code == 1
    assert place in text
    assert words in text
    assert "Traceback" not in text


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    code, text = run_and_fail(tmp_path, "--config", str(tmp_path / "none.toml"))
    assert code == 1
    assert "none.toml" in text
    assert "cannot be read" in text
    (tmp_path / "folder.toml").mkdir()
    code, text = run_and_fail(tmp_path, "--config", str(tmp_path / "folder.toml"))
    assert code == 1
    assert "Traceback" not in text


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'[[models]]\nname = "\xff"\n')
    code, text = run_and_fail(tmp_path, "--config", str(tmp_path / "latin.toml"))
    assert code == 1
    assert "UTF-8" in text


def test_it_says_where_it_listens_and_how_to_point_cline_there(backend: ScriptedServer) -> None:
    with running("--upstream", backend.url) as gateway:
        assert f"http://127.0.0.1:{gateway.port}/v1" in gateway.out
        assert backend.url in gateway.out
        assert "Cline" in gateway.out
