"""A call that does not fit, from outside: repaired, asked for again, delivered or refused."""

import json
import re
from collections.abc import Iterator

import pytest
from tests.e2e.arguments.scenes import BROKEN, RIGHT, WRONG, calling, notes, send
from tests.e2e.gateway.contract import read
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask
from tests.scripted import Answer, Call, ScriptedServer, Usage

CONFIG = """
[retries]
attempts = 0
"""
WHOLE_STREAMS = """
[repair]
streams = "whole"
off = ["number_from_string"]
"""


@pytest.fixture(scope="module")
def patient(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire whose streams wait for whole calls, and that leaves strings alone."""
    with running("--upstream", backend.url, config=WHOLE_STREAMS) as process:
        yield process


def test_a_call_that_fits_is_asked_for_once(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("std", calling(RIGHT))
    reply = send(gateway)
    assert read(reply).calls == [("get_weather", RIGHT)]
    assert "toolwire-repairs" not in reply.headers
    assert "toolwire-findings" not in reply.headers
    assert len(backend.requests) == 1


def test_a_repair_is_made_without_asking_and_is_reported(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", calling("{'city': 'Bern', days: '3',}"))
    reply = send(gateway)
    ((_, arguments),) = read(reply).calls
    assert json.loads(arguments) == {"city": "Bern", "days": 3}
    assert reply.headers["toolwire-repairs"] == "lenient_json, number_from_string"
    assert len(backend.requests) == 1


@pytest.mark.parametrize("wrong", [WRONG, BROKEN, "[1]"])
def test_what_cannot_be_repaired_is_asked_for_again_and_the_client_never_sees_it(
    gateway: Gateway, backend: ScriptedServer, wrong: str
) -> None:
    backend.use("std", calling(wrong, RIGHT))
    reply = send(gateway)
    assert read(reply).calls == [("get_weather", RIGHT)]
    assert reply.headers["toolwire-repairs"].startswith("asked_again:")
    assert "toolwire-findings" not in reply.headers


def test_the_model_is_told_what_is_wrong(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("std", calling(WRONG, RIGHT))
    send(gateway)
    first, second = (json.loads(request.body)["messages"] for request in backend.requests)
    assistant, result = second[len(first) :]
    assert assistant["tool_calls"][0]["function"]["arguments"] == WRONG
    assert result["tool_call_id"] == assistant["tool_calls"][0]["id"]
    assert 'at \'days\': "some" is not of type "integer"' in result["content"]


def test_usage_counts_both_answers(gateway: Gateway, backend: ScriptedServer) -> None:
    answers = [
        Answer(calls=(Call("get_weather", arguments),), usage=Usage(10, 3))
        for arguments in (WRONG, RIGHT)
    ]
    backend.use("std", lambda _request: answers.pop(0))
    usage = read(send(gateway)).usage
    assert usage is not None
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (20, 6)


def test_a_model_that_does_not_learn_is_asked_once_more_and_delivered_as_it_is(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", calling(WRONG))
    reply = send(gateway)
    assert read(reply).calls == [("get_weather", WRONG)]
    assert reply.headers["toolwire-findings"] == "invalid_tool_arguments:get_weather"
    assert len(backend.requests) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_a_strict_call_that_never_fits_is_an_error_and_not_a_call(
    gateway: Gateway, backend: ScriptedServer, stream: bool
) -> None:
    backend.use("std", calling(WRONG))
    outcome = read(send(gateway, strict=True, stream=stream))
    assert outcome.error is not None
    assert outcome.error["code"] == "invalid_tool_arguments"
    assert outcome.status == 502
    assert outcome.calls == []
    assert len(backend.requests) == 2


@pytest.mark.parametrize("text", ["", "Let me see. "])
def test_a_strict_call_in_a_stream_fits_after_asking_again(
    gateway: Gateway, backend: ScriptedServer, text: str
) -> None:
    backend.use("std", calling(WRONG, RIGHT, text=text))
    reply = send(gateway, strict=True, stream=True)
    outcome = read(reply)
    assert outcome.calls == [("get_weather", RIGHT)]
    assert outcome.content == text
    assert notes(reply)["repairs"] == ["asked_again:invalid_tool_arguments"]


def test_a_live_stream_delivers_what_does_not_fit_and_says_so_at_its_end(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", calling(WRONG, RIGHT))
    reply = send(gateway, stream=True, profile="live")
    assert read(reply).calls == [("get_weather", WRONG)]
    (finding,) = notes(reply)["findings"]
    assert (finding["code"], finding["tool"], finding["index"]) == (
        "invalid_tool_arguments",
        "get_weather",
        0,
    )
    assert len(backend.requests) == 1


@pytest.mark.parametrize("profile", ["default", "live"])
def test_streams_wait_for_whole_calls_by_default_and_always_where_that_is_configured(
    gateway: Gateway, patient: Gateway, backend: ScriptedServer, profile: str
) -> None:
    where = patient if profile == "live" else gateway
    backend.use("std", calling(WRONG, RIGHT))
    assert read(send(where, stream=True, profile=profile)).calls == [("get_weather", RIGHT)]


def test_a_rule_that_is_off_is_not_used(patient: Gateway, backend: ScriptedServer) -> None:
    wrong = '{"city": "Bern", "days": "3"}'
    backend.use("std", calling(wrong))
    assert read(send(patient)).calls == [("get_weather", wrong)]


def test_an_unknown_tool_is_asked_for_again(gateway: Gateway, backend: ScriptedServer) -> None:
    answers = [Answer(calls=(Call(name, RIGHT),)) for name in ("whether", "get_weather")]
    backend.use("std", lambda _request: answers.pop(0))
    reply = send(gateway)
    assert read(reply).calls == [("get_weather", RIGHT)]
    assert reply.headers["toolwire-repairs"] == "asked_again:unknown_tool_call"


def test_repairs_and_what_does_not_fit_are_counted(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    for arguments in ('{"city": "Bern", "days": "3"}', WRONG):
        backend.use("std", calling(arguments))
        send(gateway)
    metrics = ask(gateway.port, path="/metrics").body.decode()
    assert re.search(r'toolwire_repairs_total{rule="number_from_string"} [1-9]', metrics)
    assert re.search(r'toolwire_repairs_total{rule="asked_again"} [1-9]', metrics)
    assert re.search(r'toolwire_unfit_calls_total{code="invalid_tool_arguments"} [1-9]', metrics)


def test_a_loop_is_explained_to_the_model(gateway: Gateway, backend: ScriptedServer) -> None:
    backend.use("std", calling(RIGHT))
    messages: list[object] = [{"role": "user", "content": "go"}]
    for number in range(3):
        function = {"name": "get_weather", "arguments": WRONG}
        made = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [made]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": "no"})
    reply = send(gateway, messages=messages)
    assert reply.headers["toolwire-repairs"] == "loop_explained:get_weather"
    (request,) = backend.requests
    sent = json.loads(request.body)["messages"]
    assert len(sent) == len(messages) + 1
    assert "3 times" in sent[-1]["content"]
