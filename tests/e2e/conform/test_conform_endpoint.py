"""The checks of a live server: each finds the fault it is there for, and nothing else."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from click.testing import CliRunner
from tests.e2e.conform.obedient import obedient
from tests.e2e.gateway.process import running
from tests.scripted import Answer, ScriptedServer
from tests.scripted.request import ChatRequest

from toolwire.cli import main
from toolwire.conformance.endpoint import CHECKS, LiveEndpoint, TrialResult, Verdict, run_checks


def findings(url: str, *names: str) -> dict[str, TrialResult]:
    endpoint = LiveEndpoint(url, "scripted", timeout=20)
    checks = [check for check in CHECKS if not names or check.name in names]
    return {finding.name: finding for finding in run_checks(endpoint, checks)}


def failing(url: str) -> set[str]:
    return {f.name for f in findings(url).values() if f.verdict is Verdict.FAILS}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(script=obedient) as backend:
        yield backend


def test_a_good_server_works_in_everything_but_the_errors_it_does_not_make(
    server: ScriptedServer,
) -> None:
    found = findings(server.url)
    assert {f.name for f in found.values() if f.verdict is not Verdict.WORKS} == {"errors"}
    assert "HTTP 200, not 400" in found["errors"].detail
    assert found["a single call"].detail == 'get_weather({"city": "Paris"})'


@pytest.mark.parametrize(
    ("variant", "check", "detail"),
    [
        ("args_obj", "a single call", "arguments must be a string of JSON, not dict"),
        ("args_obj", "a streamed call", "arguments of a delta must be a string, not dict"),
        ("content_parts", "usage", "content"),
        ("noargs_empty", "a call without arguments", 'the arguments are ""'),
        ("text_call", "a single call", "came back as text, in the format hermes"),
        ("badargs", "a single call", "not JSON"),
        ("unknown_tool", "a single call", "get_weather was asked for, but"),
        ("id_missing", "a single call", "has no id"),
        ("id_duplicate", "parallel calls", "ids are not unique"),
        ("finish_stop", "a single call", "finish_reason is 'stop', not 'tool_calls'"),
        ("ignores_tools", "tool_choice required", "there is no call, though one was required"),
        ("idrepeat", "a streamed call", "the id of call 0 was sent again"),
        ("noindex", "a streamed call", "has the index None"),
        ("nodone", "a streamed call", "does not end with [DONE]"),
        ("shared_index", "streamed parallel calls", "was sent again"),
        ("index_gap", "streamed parallel calls", "index 1 came when 0 would be next"),
        ("nousage", "usage", "whole: there is no usage"),
        ("malformed", "a streamed call", "an event is not JSON"),
        ("midstream_error", "a streamed call", "the stream broke"),
        ("usage_extra", "usage", "do not add up to None"),
        ("err_string", "errors", "there is no"),
        ("err401", "plain chat", "HTTP 401"),
        ("garbage_json", "plain chat", "the answer has no 'choices'"),
        ("content_parts", "plain chat", "not text or null"),
    ],
)
def test_each_fault_is_found_and_named(
    server: ScriptedServer, variant: str, check: str, detail: str
) -> None:
    server.use(variant, obedient)
    found = findings(server.url, check)[check]
    assert found.verdict is Verdict.FAILS
    assert detail in found.detail
    assert found.advice


CALLS = {"calls": [["get_weather", {"city": "Paris"}]]}


@pytest.mark.parametrize(
    ("script", "check", "detail"),
    [
        ([CALLS], "plain chat", "the answer has no content"),
        ([CALLS], "tool_choice none", "get_weather was called, though no call was allowed"),
        ([CALLS], "tool_choice of one tool", "get_time was named, but get_weather was called"),
        ([{"calls": [["book_hotel", {"city": "Paris"}]]}], "strict", "do not fit the schema"),
        ([{"calls": [["get_weather", {"town": "x"}]]}], "a streamed call", "do not fit"),
        ([{"text": "Done."}], "a single call", 'get_weather was not called; the answer is "Done."'),
        ([{"text": ""}], "a result", "the answer to a result is empty"),
    ],
)
def test_what_is_not_enforced_is_found(
    server: ScriptedServer, script: object, check: str, detail: str
) -> None:
    server.use("std", script)
    found = findings(server.url, check)[check]
    assert found.verdict is Verdict.FAILS
    assert detail in found.detail


def test_a_stream_that_ends_differently_is_found(server: ScriptedServer) -> None:
    def two_faced(request: ChatRequest) -> Answer:
        return replace(obedient(request), finish="stop" if request.stream else None)

    server.use("std", two_faced)
    found = findings(server.url, "streamed as whole")["streamed as whole"]
    assert found.detail == "finish_reason is tool_calls whole, stop streamed"


def test_a_call_that_is_made_only_whole_is_found(server: ScriptedServer) -> None:
    def mute(request: ChatRequest) -> Answer:
        return Answer(text="Hm.") if request.stream else obedient(request)

    server.use("std", mute)
    found = findings(server.url, "streamed as whole")["streamed as whole"]
    assert found.detail == "whole: get_weather was called; streamed: nothing was called"


def test_a_model_that_makes_one_call_of_two_proves_nothing(server: ScriptedServer) -> None:
    server.use("std", [{"calls": [["get_weather", {"city": "Paris"}]]}])
    assert findings(server.url)["parallel calls"].verdict is Verdict.UNSURE


@pytest.mark.parametrize(
    "variant",
    ["std", "args_obj", "shared_index", "idrepeat", "finish_stop", "text_call", "noindex"],
)
def test_through_toolwire_everything_works(server: ScriptedServer, variant: str) -> None:
    server.use(variant, obedient)
    with running("--upstream", server.url) as gateway:
        assert failing(gateway.url) == set()


def test_tools_that_never_reach_the_model_are_found_by_the_length_of_the_prompt(
    server: ScriptedServer,
) -> None:
    name = "tools reach the model"
    assert findings(server.url, name)[name].detail == "+20 tokens"
    assert all(asked.json["max_tokens"] == 2048 for asked in server.requests)  # it may ramble
    server.use("std", [{"text": "Hello!", "usage": [7, 2]}])
    found = findings(server.url, name)[name]
    assert found.verdict is Verdict.FAILS
    assert "7 tokens with and without tools" in found.detail
    assert "--upstream-mode prompted" in found.advice
    server.use("nousage", obedient)
    assert findings(server.url, name)[name].verdict is Verdict.UNSURE


def test_behind_toolwire_the_advice_is_not_to_put_it_in_front(server: ScriptedServer) -> None:
    server.use("std", ["I would rather not."])
    with running("--upstream", server.url) as gateway:
        found = findings(gateway.url)["a single call"]
    assert found.verdict is Verdict.FAILS
    assert "in front already" in found.advice


def test_the_command_prints_each_check_with_advice_and_counts(server: ScriptedServer) -> None:
    server.use("text_call", obedient)
    result = CliRunner().invoke(main, ["conform", "--endpoint", server.url, "--model", "scripted"])
    assert result.exit_code == 1
    assert "fails  a single call" in result.output
    assert "Let the server parse calls" in result.output
    assert result.output.splitlines()[-1].endswith("unsure")


def test_the_command_sends_the_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-right")
    with ScriptedServer(script=obedient, key="sk-right") as server:
        words = ["conform", "--endpoint", server.url, "--model", "scripted", "--json"]
        without = CliRunner().invoke(main, words)
        with_key = CliRunner().invoke(main, [*words, "--key-env", "SOME_KEY"])
    refused = "HTTP 401"
    assert refused in without.output
    assert refused not in with_key.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--endpoint", "http://127.0.0.1:9/v1", "--model", "m"], "Connection refused"),
        (
            ["--endpoint", "localhost:8000", "--model", "m"],
            "Error: 'localhost:8000' is not the URL of a server",
        ),
        (["--endpoint", "http://127.0.0.1:9/v1"], "needs --model"),
        (["--endpoint", "http://x", "--model", "m", "--key-env", "NOT_SET_HERE"], "NOT_SET_HERE"),
        ([], "either --parser"),
        (["--endpoint", "http://x", "--parser", "a:b"], "either --parser"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(words: list[str], message: str) -> None:
    result = CliRunner().invoke(main, ["conform", *words])
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.strip().splitlines()) == 1
