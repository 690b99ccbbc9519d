import io
import json
import logging
import re
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from toolwire.server.telemetry.logs import Logs, TurnFacts, setup

CLIENT, BACKEND, HEADER = "tw-planted-client-key", "planted+backend/key", "planted-header-value"
FORMATS = ("text", "json")


@pytest.fixture(autouse=True)
def restore_logging() -> Iterator[None]:
    logger = logging.getLogger("toolwire")
    before = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = before


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


def access(logs: Logs, **facts: Any) -> None:
    request: dict[str, Any] = {
        "request_id": "req_1",
        "method": "POST",
        "path": "/v1/chat/completions",
        "status": 200,
        "model": "qwen",
        "backend": "gpu-1",
        "mode": "prompted:hermes",
        "key_name": "me",
        "duration_ms": 12.34,
        "stream": True,
        "sent": 567,
    }
    logs.access(**(request | facts))


def test_an_access_line_is_one_line_of_words(out: io.StringIO) -> None:
    access(setup(stream=out))
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO  200     12\.3ms POST /v1/chat/completions "
        r"model=qwen backend=gpu-1 mode=prompted:hermes key=me stream=yes sent=567 id=req_1\n",
        out.getvalue(),
    )


def test_an_access_line_in_json_is_one_object(out: io.StringIO) -> None:
    access(setup(format="json", stream=out), model=None, stream=False)
    entry = json.loads(out.getvalue())
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "level": "info",
        "event": "request",
        "method": "POST",
        "path": "/v1/chat/completions",
        "status": 200,
        "ms": 12.3,
        "sent": 567,
        "stream": False,
        "model": None,
        "backend": "gpu-1",
        "mode": "prompted:hermes",
        "key": "me",
        "id": "req_1",
    }


TURN = TurnFacts(436, 26, 0.1234, 1, ["tool_name_resolved", "arguments_repeated"])


def test_the_access_line_of_a_turn_says_how_it_went(out: io.StringIO) -> None:
    access(setup(stream=out), turn=TURN)
    told = "tokens=436+26 first=123.4ms retries=1 repairs=arguments_repeated,tool_name_resolved"
    assert f" sent=567 {told} id=req_1\n" in out.getvalue()


def test_the_access_line_of_a_turn_without_an_answer_has_no_figures(out: io.StringIO) -> None:
    access(setup(stream=out), status=503, turn=TurnFacts(retries=2))
    assert "tokens=- first=- retries=2 repairs=- id=req_1\n" in out.getvalue()


def test_the_access_line_of_a_turn_in_json_says_how_it_went(out: io.StringIO) -> None:
    access(setup(format="json", stream=out), turn=TURN)
    entry = json.loads(out.getvalue())
    assert (entry["prompt_tokens"], entry["completion_tokens"]) == (436, 26)
    assert (entry["first_token_ms"], entry["retries"]) == (123.4, 1)
    assert entry["repairs"] == ["arguments_repeated", "tool_name_resolved"]
    assert entry["id"] == "req_1"


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_a_health_probe_is_logged_for_debugging_only(out: io.StringIO, path: str) -> None:
    access(setup(stream=out), path=path)
    access(setup(stream=out), path=path, status=503)
    assert out.getvalue() == ""
    access(setup("debug", stream=out), path=path)
    assert " DEBUG 200 " in out.getvalue()


def test_a_refused_scrape_is_logged(out: io.StringIO) -> None:
    access(setup(stream=out), path="/metrics", status=401)
    assert " INFO  401 " in out.getvalue()


def test_the_time_is_utc_and_goes_on(out: io.StringIO) -> None:
    logs = setup(stream=out)
    assert logs.stamp(0.0625) == "1970-01-01T00:00:00.062Z"
    assert logs.stamp(1_700_000_000.999) == "2023-11-14T22:13:20.999Z"
    assert logs.stamp(1_700_000_001.0) == "2023-11-14T22:13:21.000Z"


@pytest.mark.parametrize(
    ("level", "statuses"),
    [("debug", [200, 404, 500]), ("info", [200, 404, 500]), ("warning", [500]), ("error", [500])],
)
def test_a_level_decides_which_requests_are_written(
    level: Any, statuses: list[int], out: io.StringIO
) -> None:
    logs = setup(level, "json", stream=out)
    for status in (200, 404, 500):
        access(logs, status=status)
    assert [json.loads(line)["status"] for line in out.getvalue().splitlines()] == statuses


HOSTILE = ["a\nINFO forged", "a\r\nb", 'a" b="c', "\x1b[31m", "\ud800", "ü\u2028x", "x" * 5000, ""]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_a_client_cannot_forge_a_line(value: str, format_: Any, out: io.StringIO) -> None:
    logs = setup(format=format_, stream=out)
    access(logs, model=value, path="/" + value, backend=value, method=value)
    line = out.getvalue()
    assert line.isascii()
    assert line[:-1].isprintable()
    assert line.endswith("\n")
    assert len(line) < 2000
    if format_ == "json":
        assert set(json.loads(line)) >= {"model", "id"}


@pytest.mark.parametrize("format_", FORMATS)
def test_an_entry_of_many_lines_cannot_be_taken_for_several(format_: Any, out: io.StringIO) -> None:
    setup(format=format_, stream=out)
    logging.getLogger("toolwire.x").warning("first\n2026-01-01 INFO second\rthird")
    starts = [line for line in out.getvalue().splitlines() if not line.startswith("  ")]
    assert len(starts) == 1


@pytest.mark.parametrize(
    "control", ["\x1b[2J", "\r", "\b", "\x07", "\x85", "\u2028", "\u202e", "\x7f"]
)
def test_what_others_wrote_cannot_steer_a_terminal(control: str, out: io.StringIO) -> None:
    setup(stream=out)
    logging.getLogger("toolwire.x").warning("backend %s failed", f"a{control}b")
    assert out.getvalue().endswith(f"WARNING backend a{repr(control)[1:-1]}b failed\n")


def test_long_paths_of_clients_are_not_kept(out: io.StringIO) -> None:
    logs = setup(stream=out)
    access(logs)
    tracemalloc.start()
    for number in range(500):
        access(logs, path=f"/{number}" + "x" * 50_000, status=404)
        out.truncate(0)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000


def test_the_query_of_a_path_is_left_out(out: io.StringIO) -> None:
    access(setup(stream=out), path="/v1/models?planted=1")
    assert "planted" not in out.getvalue()


def plant(logs: Logs) -> list[str]:
    """Twelve secrets in twelve places; returns what is handed back instead of logged."""
    log = logging.getLogger("toolwire.server")
    logs.see(CLIENT)
    access(logs, path=f"/v1/{CLIENT}")
    access(logs, model=BACKEND)
    access(logs, path=f"/v1/models?key={BACKEND}")
    access(logs, key_name=f"x-{CLIENT}", status=500)
    log.warning("presented %s", CLIENT)
    log.error("backend says: Incorrect API key provided: %s", BACKEND)
    log.info("dialling https://user:planted-password@host/v1")
    log.debug("headers %r", {"x-api-key": HEADER, "authorization": "Bearer planted-other-key"})
    log.info("GET /v1?api_key=planted-in-query&x=1")
    log.warning(json.dumps({"error": f"bad key '{BACKEND}'"}))
    try:
        raise ValueError(f"cannot use {HEADER} with planted%2Bbackend%2Fkey")
    except ValueError:
        log.exception("failed with %s", BACKEND)
    return [logs.redact(f"{'x' * 190} {BACKEND}", 200), logs.redact(f"key {HEADER} {CLIENT}")]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_twelve_planted_secrets_are_never_written(
    level: Any, format_: Any, out: io.StringIO
) -> None:
    returned = plant(setup(level, format_, secrets=[BACKEND, HEADER], stream=out))
    assert "***" in out.getvalue()
    assert "planted" not in out.getvalue() + "".join(returned)


def test_a_key_is_masked_from_the_moment_it_is_seen(out: io.StringIO) -> None:
    logs = setup(stream=out)
    access(logs, model="client-password")
    logs.see("client-password")
    access(logs, model="client-password")
    first, second = out.getvalue().splitlines()
    assert "client-password" in first
    assert "client-password" not in second


@pytest.mark.parametrize("error", [BrokenPipeError, OSError, ValueError])
def test_a_log_that_cannot_be_written_does_not_fail_the_request(error: type[Exception]) -> None:
    class Broken(io.StringIO):
        def write(self, _text: str) -> int:
            raise error

    access(setup(stream=Broken()))


def test_logs_of_other_libraries_are_left_alone(out: io.StringIO) -> None:
    setup("debug", stream=out)
    logging.getLogger("elsewhere").debug("not ours")
    assert out.getvalue() == ""


def test_setting_up_twice_does_not_write_twice(out: io.StringIO) -> None:
    setup(stream=out)
    setup(stream=out)
    logging.getLogger("toolwire").info("once")
    assert out.getvalue().count("once") == 1


@pytest.mark.timed
@pytest.mark.parametrize("format_", FORMATS)
def test_an_access_line_costs_little(format_: Any) -> None:
    secrets = [f"sk-planted-{number:030d}" for number in range(20)]
    logs = setup(format=format_, secrets=secrets, stream=io.StringIO())

    def cost() -> float:
        started = time.process_time()
        for number in range(1000):
            logs.access(f"req_{number:016d}", "POST", "/v1/chat/completions", 200, model="qwen")
        return (time.process_time() - started) / 1000

    assert min(cost() for _ in range(10)) < 25e-6  # about 5 us on a quiet machine
