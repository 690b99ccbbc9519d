"""Traces and `toolwire replay`, from outside."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.arguments.scenes import RIGHT, WRONG, calling, send
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import Reply
from tests.scripted import Answer, ScriptedServer

PROMPT = "what is the weather in Bern"
SECRET = "sk-verysecretkey0123456789"
FORMAT = """
[[models]]
name = "prompted"
mode = "prompted"
format = "hermes"
backend = {{ url = "{url}" }}
[[models]]
name = "limited"
tools_denied = ["get_*"]
backend = {{ url = "{url}" }}
[[models]]
name = "*"
backend = {{ url = "{url}" }}
"""


@pytest.fixture(scope="module", params=[True, False], ids=["bodies", "no bodies"])
def traced(
    request: pytest.FixtureRequest, backend: ScriptedServer
) -> Iterator[tuple[Gateway, bool]]:
    """A Toolwire that writes traces, with and without bodies."""
    flags = ["--trace-dir", "traces", *(["--trace-bodies"] if request.param else [])]
    with running(*flags, config=FORMAT.format(url=backend.url)) as process:
        yield process, request.param


def trace_of(gateway: Gateway, reply: Reply) -> tuple[Path, Any]:
    """The file of a request, once it is there."""
    path = gateway.folder / "traces" / f"{reply.headers['toolwire-request-id']}.json"
    deadline = time.monotonic() + 5
    while not path.exists() or not path.read_bytes().endswith(b"}"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return path, json.loads(path.read_bytes())


def replayed(path: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """What `toolwire replay` says."""
    command = [sys.executable, "-m", "toolwire", "replay", str(path), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def ask_for_weather(gateway: Gateway, **more: Any) -> Reply:
    """The same question each time."""
    return send(gateway, messages=[{"role": "user", "content": PROMPT}], **more)


@pytest.mark.parametrize("stream", [True, False])
def test_a_trace_says_what_came_in_what_was_said_and_what_went_out(
    traced: tuple[Gateway, bool], backend: ScriptedServer, stream: bool
) -> None:
    gateway, bodies = traced
    backend.use("std", calling(RIGHT))
    path, trace = trace_of(gateway, ask_for_weather(gateway, stream=stream))
    (attempt,) = trace["attempts"]
    (call,) = attempt["sent"]["0"]["calls"]
    assert trace["plan"]["delivery"] == "whole"
    assert call[1] == "get_weather"
    assert attempt["heard"]
    assert call[2] == (RIGHT if bodies else len(RIGHT))
    assert (PROMPT in path.read_text()) == bodies
    assert ("Bern" in path.read_text()) == bodies


def test_a_trace_says_what_did_not_fit_and_what_the_model_was_told(
    traced: tuple[Gateway, bool], backend: ScriptedServer
) -> None:
    gateway, bodies = traced
    backend.use("std", calling(WRONG, RIGHT))
    _, trace = trace_of(gateway, ask_for_weather(gateway))
    first, second = trace["attempts"]
    assert first["findings"][0]["code"] == "invalid_tool_arguments"
    assert first["error"]["code"] == "invalid_tool_arguments"
    assert [role for role, _ in second["told"]] == ["assistant", "tool"]
    assert trace["repairs"] == ["asked_again:invalid_tool_arguments"]
    if bodies:
        assert "is not of type" in first["findings"][0]["message"]
        assert "is not of type" in second["told"][1][1]


def test_a_trace_says_which_span_of_the_text_was_taken_for_what(
    traced: tuple[Gateway, bool], backend: ScriptedServer
) -> None:
    gateway, _ = traced
    text = (
        'See: <tool_call>\n{"name": "get_weather", "arguments": '
        f"{RIGHT}}}\n</tool_call> and <tool_call>not a call</tool_call>"
    )
    backend.use("std", lambda _request: Answer(text=text))
    _, trace = trace_of(gateway, ask_for_weather(gateway, model="prompted", stream=True))
    (attempt,) = trace["attempts"]
    spans = attempt["spans"]["0"]
    strategy = {"kind": "prompted", "format": "hermes", "guessed": False}
    assert attempt["strategy"] == {**strategy, "detecting": True, "unproven": False}
    assert [0, *(end for _, end, _, _ in spans)] == [*(s for s, *_ in spans), len(text)]
    assert "call" in [kind for _, _, kind, _ in spans]
    assert any(why for _, _, kind, why in spans if kind == "text")


def test_a_refused_request_has_a_trace_too(
    traced: tuple[Gateway, bool], backend: ScriptedServer
) -> None:
    gateway, _ = traced
    _, trace = trace_of(gateway, send(gateway, temperature=5))
    assert trace["error"]["code"] == "decimal_above_max_value"
    assert trace["attempts"] == []


def test_keys_are_never_in_a_trace(traced: tuple[Gateway, bool], backend: ScriptedServer) -> None:
    gateway, _ = traced
    leaky = json.dumps({"city": SECRET, "days": 3})
    for script in (calling(leaky), lambda _request: Answer(text=f"It is {SECRET}.")):
        for stream in (True, False):
            backend.use("std", script)
            told = [{"role": "user", "content": f"my key is {SECRET}"}]
            path, trace = trace_of(gateway, send(gateway, messages=told, stream=stream))
            assert SECRET not in path.read_text()
            texts = [
                f.get("text", "") for b in trace["attempts"][0]["heard"] for f in b["fragments"]
            ]
            assert SECRET not in "".join(map(str, texts))


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("arguments", [RIGHT, WRONG, "{'city': 'Bern', 'days': '3'}"])
def test_a_replay_of_a_trace_with_bodies_is_the_same_as_then(
    traced: tuple[Gateway, bool], backend: ScriptedServer, stream: bool, arguments: str
) -> None:
    gateway, bodies = traced
    backend.use("std", calling(arguments, text="Well."))
    path, _ = trace_of(gateway, ask_for_weather(gateway, stream=stream))
    run = replayed(path)
    if bodies:
        assert (run.returncode, run.stderr) == (0, "")
        assert "The same as then." in run.stdout
    else:
        assert run.returncode == 2
        assert "bodies = true" in run.stderr


def test_a_replay_knows_which_tools_were_left_out(
    traced: tuple[Gateway, bool], backend: ScriptedServer
) -> None:
    gateway, bodies = traced
    backend.use("std", calling(RIGHT))
    reply = ask_for_weather(gateway, model="limited", stream=True)
    path, trace = trace_of(gateway, reply)
    assert "get_weather" not in trace["plan"]["tools"]
    assert "tool_dropped:get_weather" in trace["plan"]["repairs"]
    assert "tool_dropped:get_weather" in reply.headers["toolwire-repairs"]
    if bodies:
        run = replayed(path)
        assert "The same as then." in run.stdout, run.stdout


FOREIGN = {
    "another format": f"[TOOL_CALLS]get_weather{RIGHT}",
    "a code fence": f'```json\n{{"name": "get_weather", "arguments": {RIGHT}}}\n```',
    "a call in prose": "Hm.\n\n<|tool_call_start|>[get_weather(city='Bern', days=3)]",
}
"""Calls as the text of a model whose format nobody knows yet."""


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_a_replay_knows_whether_the_format_was_being_detected(
    traced: tuple[Gateway, bool], backend: ScriptedServer, stream: bool, text: str
) -> None:
    gateway, bodies = traced
    model = f"unknown-{len(text)}-{stream}"
    backend.use("std", lambda _request: Answer(text=text))
    for turn in ("the first", "the second"):
        path, trace = trace_of(gateway, ask_for_weather(gateway, model=model, stream=stream))
        (attempt,) = trace["attempts"]
        assert [call[1] for call in attempt["sent"]["0"]["calls"]] == ["get_weather"], turn
        assert attempt["strategy"]["detecting"], turn
        if bodies:
            run = replayed(path)
            assert "The same as then." in run.stdout, (turn, run.stdout)


def test_a_replay_says_what_is_different(
    traced: tuple[Gateway, bool], backend: ScriptedServer, tmp_path: Path
) -> None:
    gateway, bodies = traced
    if not bodies:
        return
    backend.use("std", calling(RIGHT))
    _, trace = trace_of(gateway, ask_for_weather(gateway))
    trace["attempts"][0]["sent"]["0"]["calls"][0][2] = '{"city": "Basel"}'
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(trace))
    run = replayed(path)
    assert run.returncode == 1
    assert "Basel" in run.stdout
    assert "1 differences." in run.stdout
    run = replayed(path, "--json")
    assert run.returncode == 1
    (difference,) = json.loads(run.stdout)["differences"]
    assert "Basel" in json.dumps(difference["then"])
    assert difference["attempt"] == 1


def test_what_is_no_trace_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    others = (b"{}", b"[]", b"nonsense", b'{"attempts": [], "version": 99}', b'"\x80"', b"[" * 9999)
    for data in others:
        path.write_bytes(data)
        run = replayed(path)
        assert run.returncode == 2
        assert "Traceback" not in run.stderr
