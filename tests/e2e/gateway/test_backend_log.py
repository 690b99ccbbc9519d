"""Nothing that goes wrong at a backend is silent, and what a start finds is printed."""

import signal
import time
from collections.abc import Callable

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask, chat_body
from tests.scripted import ScriptedServer

PROBES = {"TOOLWIRE_PROBE_AT_START": "true"}
POOL = """
[retries]
backoff = 0.01
[[models]]
name = "m"
[[models.backends]]
name = "dead"
url = "http://127.0.0.1:9/v1"
[[models.backends]]
name = "alive"
url = "{url}"
"""


def wait_until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def test_a_dead_member_of_a_pool_shows_in_log_and_metrics(backend: ScriptedServer) -> None:
    backend.use("std", ["hello"])
    with running(config=POOL.format(url=backend.url)) as gateway:
        for _ in range(5):
            assert ask(gateway.port, chat_body(model="m")).status == 200
        line = gateway.wait_for_log("WARNING backend dead failed")
        assert "cannot be reached: Connection refused" in line
        assert gateway.log.count("WARNING") == 1
        access = gateway.wait_for_log("retries=1")
        assert "backend=alive" in access
        metrics = ask(gateway.port, path="/metrics").body.decode()
        assert 'toolwire_backend_attempts_total{backend="dead"} 1.0' in metrics
        assert 'toolwire_retries_total{backend="dead",reason="upstream_error"} 1.0' in metrics
        assert 'toolwire_backend_attempts_total{backend="alive"} 5.0' in metrics


def test_a_wrong_key_shows_in_the_log(backend: ScriptedServer, gateway: Gateway) -> None:
    backend.use("err_key")
    ask(gateway.port, chat_body())
    assert "upstream_key_refused" in gateway.wait_for_log("WARNING backend 127.0.0.1")


def test_a_failed_pass_through_shows_in_the_log(backend: ScriptedServer) -> None:
    with running("--upstream", "http://127.0.0.1:9/v1") as gateway:
        ask(gateway.port, {"model": "m", "input": "x"}, path="/v1/embeddings")
        gateway.wait_for_log("WARNING backend 127.0.0.1:9 failed")


def test_the_switch_to_prompted_tools_is_logged_once(backend: ScriptedServer) -> None:
    tool = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}
    with running("--upstream", backend.url) as gateway:
        for _ in range(3):
            backend.use("refuses_tools", ["hello"])
            ask(gateway.port, chat_body(tools=[tool]))
        line = gateway.wait_for_log("written into the prompt")
        assert " INFO  backend 127.0.0.1" in line
        assert gateway.log.count("written into the prompt") == 1


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_probes_stay_out_of_the_log(gateway: Gateway, path: str) -> None:
    ask(gateway.port, path=path)
    ask(gateway.port, path="/v1/nothing")
    gateway.wait_for_log("/v1/nothing")
    assert path not in gateway.log


def test_a_start_says_what_the_upstream_serves_and_how(backend: ScriptedServer) -> None:
    backend.use()
    with running("--upstream", backend.url, env=PROBES) as gateway:
        assert wait_until(lambda: "answers (" in gateway.out), gateway.out
        assert f"  {backend.url} answers (dialect openai, as configured)" in gateway.out
        assert "tools: the server's own tools, and calls in its text (mode hybrid" in gateway.out
        assert "calls: as 'hermes'" in gateway.out
        assert "WARNING" not in gateway.log


def test_a_start_says_that_a_server_does_not_tell_what_it_is(backend: ScriptedServer) -> None:
    backend.use()
    flags = "--upstream", backend.url, "--upstream-dialect", "auto"
    with running(*flags, env=PROBES) as gateway:
        assert wait_until(lambda: "answers (" in gateway.out), gateway.out
        assert "answers (it could not be identified: dialect openai)" in gateway.out


def test_a_start_says_that_nothing_answers_and_tries_again() -> None:
    with ScriptedServer() as server:
        port, url = server.port, server.url
    with running("--upstream", url, env=PROBES) as gateway:
        assert wait_until(lambda: "Nothing usable answers" in gateway.out), gateway.out
        assert f"Nothing usable answers at {url}: " in gateway.out
        assert "Connection refused" in gateway.out
        with ScriptedServer(port=port):
            assert wait_until(lambda: f"{url} answers (" in gateway.out), gateway.out
            gateway.wait_for_log("answers again")


def test_readiness_can_require_a_live_backend() -> None:
    with ScriptedServer() as server:
        port, url = server.port, server.url
    config = '[health]\nready = "backend"\ninterval = 0.1\n'
    with running("--upstream", url, config=config) as gateway:
        reply = ask(gateway.port, path="/readyz")
        assert (reply.status, reply.json["status"]) == (503, "no_backend")
        assert reply.json["backends"] == {"live": 0, "total": 1}
        assert ask(gateway.port, path="/healthz").status == 200
        with ScriptedServer(port=port):
            assert wait_until(lambda: ask(gateway.port, path="/readyz").status == 200)
        assert wait_until(lambda: ask(gateway.port, path="/readyz").status == 503)


def test_no_backend_is_asked_at_start_if_the_configuration_says_so(
    backend: ScriptedServer, gateway: Gateway
) -> None:
    backend.use("std", ["hello"])
    assert ask(gateway.port, chat_body()).status == 200
    assert [request.path for request in backend.requests] == ["/v1/chat/completions"]


def test_everything_works_on_the_loop_of_the_standard_library(backend: ScriptedServer) -> None:
    backend.use("std", ["hello"])
    with running("--upstream", backend.url, env={"TOOLWIRE_LOOP": "asyncio"}) as gateway:
        for stream in (True, False):
            reply = ask(gateway.port, chat_body(stream=stream))
            assert (reply.status, b"hello" in reply.body) == (200, True)
        gateway.signal(signal.SIGTERM)
        assert gateway.wait(10) == 0
        assert "Traceback" not in gateway.log
