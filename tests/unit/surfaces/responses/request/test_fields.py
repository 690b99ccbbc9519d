"""The fields of a request: each is honoured, translated, ignored or refused, and never lost."""

from typing import Any

import pytest
from tests.asking import given
from tests.contract.chatting import speaking
from tests.unit.surfaces.responses.responding import END, WEATHER, Answer, ask

from toolwire.backends.base import Capabilities
from toolwire.protocol.fragments import Fragment


def ignored(answer: Answer) -> str:
    assert answer.status == 200, answer.written
    return answer.headers.get("toolwire-ignored-params", "")


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ({"max_output_tokens": 9}, "max_completion_tokens", 9),
        ({"temperature": 0.5}, "temperature", 0.5),
        ({"top_p": 0.5}, "top_p", 0.5),
        ({"reasoning": {"effort": "low"}}, "reasoning_effort", "low"),
        ({"text": {"verbosity": "low"}}, "verbosity", "low"),
        ({"prompt_cache_key": "k"}, "prompt_cache_key", "k"),
        ({"user": "u"}, "user", "u"),
        ({"service_tier": "flex"}, "service_tier", "flex"),
        ({"safety_identifier": "s"}, "safety_identifier", "s"),
        ({"text": {"format": {"type": "json_object"}}}, "response_format", {"type": "json_object"}),
        ({"include": ["message.output_text.logprobs"], "top_logprobs": 3}, "top_logprobs", 3),
        ({"include": ["message.output_text.logprobs"]}, "logprobs", True),
    ],
)
def test_a_field_becomes_the_parameter_of_a_chat(fields: Any, name: str, value: Any) -> None:
    assert given(ask(**fields).asked[0].request)[name] == value


def test_nothing_is_sent_that_the_client_did_not_set() -> None:
    assert given(ask().asked[0].request) == {}


def test_a_schema_for_the_answer_is_one_level_deeper_in_a_chat() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    form = {"type": "json_schema", "name": "n", "schema": schema, "strict": True}
    sent = given(ask(text={"format": form}).asked[0].request)["response_format"]
    inner = {"name": "n", "schema": schema, "strict": True}
    assert sent == {"type": "json_schema", "json_schema": inner}


@pytest.mark.parametrize("strict", [None, False, True])
def test_a_strict_schema_for_the_answer_follows_the_strict_rules(strict: bool | None) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    form = {"type": "json_schema", "name": "n", "schema": schema, "strict": strict}
    answer = ask(text={"format": form})
    assert (answer.status == 400) == bool(strict)
    if strict:
        assert answer.json["error"]["param"] == "text.format.schema"
        assert "'additionalProperties' is required" in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        ({"truncation": "auto"}, "truncation"),
        ({"context_management": [{"type": "compaction"}]}, "context_management"),
        ({"max_tool_calls": 3}, "max_tool_calls"),
        ({"include": ["web_search_call.action.sources"]}, "include:web_search_call.action.sources"),
        ({"moderation": {}}, "moderation"),
        ({"client_metadata": {"x": "y"}}, "client_metadata"),
        ({"access_programs": []}, "access_programs"),
        ({"image": {}}, "image"),
        ({"prompt_cache_options": {}}, "prompt_cache_options"),
        ({"reasoning": {"context": "all", "effort": None}}, "reasoning.context"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"never_heard_of": {"a": 1}}, "never_heard_of"),
    ],
)
def test_a_field_that_nothing_is_done_with_is_reported(fields: Any, reported: str) -> None:
    answer = ask(**fields)
    assert reported in ignored(answer).split(", ")
    assert given(answer.asked[0].request) == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"truncation": "disabled"},
        {"background": False},
        {"stream_options": {"include_obfuscation": True}},
        {"store": False},
        {"temperature": None},
    ],
)
def test_a_field_that_changes_nothing_is_not_reported(fields: Any) -> None:
    assert ignored(ask(**fields)) == ""


def test_what_the_backend_does_not_take_is_reported_by_the_names_of_this_api() -> None:
    backend = speaking(Fragment(text="a"), END, unsupported=frozenset({"verbosity"}))
    assert ignored(ask(backend, text={"verbosity": "low"})) == "text.verbosity"


def test_what_is_sent_with_another_value_is_reported_by_the_names_of_this_api() -> None:
    backend = speaking(Fragment(text="a"), END, capabilities=Capabilities(efforts=("low", "high")))
    answer = ask(backend, reasoning={"effort": "max"})
    assert answer.headers["toolwire-adjusted-params"] == "reasoning.effort"


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"conversation": "conv_1"}, "conversation", "unsupported_parameter"),
        ({"background": True}, "background", "unsupported_parameter"),
        ({"prompt": {"id": "p"}}, "prompt", "unsupported_parameter"),
        ({"temperature": 3}, "temperature", "decimal_above_max_value"),
        ({"temperature": "hot"}, "temperature", "invalid_type"),
        ({"max_output_tokens": 0}, "max_output_tokens", "integer_below_min_value"),
        ({"include": "x"}, "include", "invalid_type"),
        ({"metadata": {"a": 1}}, "metadata[...]", "invalid_type"),
        ({"text": {"format": {"type": "xml"}}}, "text.format.type", "invalid_value"),
        (
            {"text": {"format": {"type": "json_schema", "name": "n"}}},
            "text.format.schema",
            "missing_required_parameter",
        ),
        (
            {"text": {"format": {"type": "json_schema", "name": "a b", "schema": {}}}},
            "text.format.name",
            "invalid_value",
        ),
        ({"model": None}, "model", "missing_required_parameter"),
        ({"model": 3}, "model", "invalid_type"),
        ({"input": ...}, "input", "missing_required_parameter"),
        ({"input": []}, "input", "missing_required_parameter"),
        ({"input": 3}, "input", "invalid_type"),
        ({"input": ["a"]}, "input[0]", "invalid_type"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(fields: Any, param: str, code: str) -> None:
    answer = ask(**fields)
    error = answer.json["error"]
    assert answer.status == 400
    assert (error["param"], error["code"]) == (param, code)
    assert set(error) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_probe_is_answered_without_a_model(stream: bool) -> None:
    answer = ask(input=[], max_output_tokens=1, stream=stream)
    assert answer.asked == []
    assert answer.headers["content-type"].startswith("text/event" if stream else "application/j")
    assert (answer.response["status"], answer.output) == ("completed", [])


def test_an_unknown_model_is_not_found() -> None:
    answer = ask(model="other")
    assert (answer.status, answer.json["error"]["code"]) == (404, "model_not_found")


def test_parallel_calls_of_strict_tools_are_turned_off_and_that_is_said() -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    strict = {**WEATHER, "parameters": schema, "strict": True}
    answer = ask(tools=[strict], parallel_tool_calls=True)
    assert answer.headers["toolwire-adjusted-params"] == "parallel_tool_calls"
    assert answer.response["parallel_tool_calls"] is False


def test_one_call_a_turn_is_asked_for_and_said() -> None:
    answer = ask(tools=[WEATHER], parallel_tool_calls=False)
    assert answer.asked[0].request.parallel is False
    assert answer.response["parallel_tool_calls"] is False
