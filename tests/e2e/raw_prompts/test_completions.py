"""A server that has only `/completions`: whatever the family, a client sees a chat with tools."""

import json
from typing import Any

import pytest
from tests.e2e.gateway.contract import Outcome, check_arguments, read
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.scenes import CALLS, SCRIPTS, TOOLS, meant, values
from tests.e2e.gateway.wire import Reply, ask, chat_body
from tests.e2e.prompted.models import raw
from tests.e2e.raw_prompts.conftest import FAMILIES
from tests.scripted import ScriptedServer
from tests.templates import SHAPES, read_prompt

NAMED = {"type": "function", "function": {"name": "get_weather"}}
FAMILY = pytest.mark.parametrize("family", FAMILIES)
STREAMED = pytest.mark.parametrize("stream", [True, False])
OPTIONS: dict[str, Any] = {"stream_options": {"include_usage": True}}


def post(gateway: Gateway, model: str, *, stream: bool = False, **fields: Any) -> Reply:
    body = chat_body(model=model, stream=stream, **(OPTIONS if stream else {}), **fields)
    return ask(gateway.port, body)


def answer(gateway: Gateway, model: str, *, stream: bool = False, **fields: Any) -> Outcome:
    outcome = read(post(gateway, model, stream=stream, **fields), include_usage=stream)
    assert outcome.error is None, outcome.error
    return outcome


def sent(backend: ScriptedServer, at: int = -1) -> dict[str, Any]:
    """What reached the backend: a prompt, and never messages or tools."""
    request = backend.requests[at]
    assert request.path == "/v1/completions"
    assert not {"messages", "tools", "tool_choice", "parallel_tool_calls"} & set(request.json)
    body: dict[str, Any] = request.json
    return body


def seen(backend: ScriptedServer, family: str) -> list[dict[str, Any]]:
    """The messages as the model sees them."""
    return read_prompt(sent(backend)["prompt"], family)


@FAMILY
@STREAMED
def test_calls_and_text_come_out_as_the_model_means_them(
    gateway: Gateway, backend: ScriptedServer, family: str, stream: bool
) -> None:
    for script in SCRIPTS.values():
        backend.use("only_completions", raw(FAMILIES[family], script))
        outcome = answer(gateway, f"{family}/generic", stream=stream, tools=TOOLS)
        check_arguments(outcome)
        wanted = meant(script)
        assert values(outcome) == values(wanted)
        assert (outcome.content.rstrip("\n"), outcome.finish) == (wanted.content, wanted.finish)
        assert outcome.usage is not None


@FAMILY
@STREAMED
def test_tool_choice_is_kept_to(
    gateway: Gateway, backend: ScriptedServer, family: str, stream: bool
) -> None:
    made = {}
    for choice in ("none", "required", NAMED):
        backend.use("only_completions", raw(FAMILIES[family], CALLS))
        fields = {"tools": TOOLS, "tool_choice": choice, "parallel_tool_calls": False}
        outcome = answer(gateway, f"{family}/generic", stream=stream, **fields)
        made[json.dumps(choice)] = [name for name, _ in outcome.calls]
    assert list(made.values()) == [[], ["now"], ["get_weather"]]


@FAMILY
def test_a_conversation_with_calls_and_results_goes_on_to_its_end(
    gateway: Gateway, backend: ScriptedServer, family: str
) -> None:
    backend.use("only_completions", raw(FAMILIES[family], "many:3"))
    messages = [{"role": "system", "content": "Be brief."}, *chat_body()["messages"]]
    for number in range(3):
        whole = post(gateway, f"{family}/generic", tools=TOOLS[1:], messages=messages)
        said = json.loads(whole.body)["choices"][0]["message"]
        messages.append(said)
        messages += [
            {"role": "tool", "tool_call_id": call["id"], "content": f"Result {number}."}
            for call in said["tool_calls"]
        ]
    last = answer(gateway, f"{family}/generic", tools=TOOLS[1:], messages=messages)
    assert last.content == "done after 3 calls"
    shown = seen(backend, family)
    assert [m["role"] for m in shown if m["role"] != "system"] == ["user", "assistant"] * 3 + [
        "user"
    ]
    assert "Be brief." in shown[0]["content"]
    assert "Result 2." in shown[-1]["content"]


@FAMILY
@STREAMED
def test_a_request_without_tools_is_the_conversation_and_nothing_else(
    gateway: Gateway, backend: ScriptedServer, family: str, stream: bool
) -> None:
    backend.use("only_completions", "echo")
    messages = [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Two"},
        {"role": "user", "content": [{"type": "text", "text": "Three"}]},
    ]
    outcome = answer(gateway, f"{family}/generic", stream=stream, messages=messages)
    assert (outcome.content, outcome.finish) == ("Three", "stop")
    told = [(m["role"], m["content"]) for m in seen(backend, family)]
    assert told == [("user", "One"), ("assistant", "Two"), ("user", "Three")]
    assert not sent(backend)["prompt"].startswith("<s>"), "the server puts it there"


@pytest.mark.parametrize(
    ("family", "mode"),
    [(family, f"prompted:{name}") for family, name in FAMILIES.items()],
)
def test_the_format_is_that_of_the_template(
    gateway: Gateway, backend: ScriptedServer, family: str, mode: str
) -> None:
    backend.use("only_completions", raw(FAMILIES[family], CALLS))
    assert post(gateway, f"{family}/generic", tools=TOOLS).headers["toolwire-mode"] == mode
    assert len(backend.requests) == 1


def test_parameters_keep_their_meaning_and_those_of_a_chat_are_left_out(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("only_completions", "echo")
    fields = {"temperature": 0.25, "max_completion_tokens": 9, "stop": ["\n"], "seed": 3}
    reply = post(gateway, "qwen25/vllm", logprobs=True, reasoning_effort="low", **fields)
    body = sent(backend)
    assert body["stop"] == ["\n", "<|im_end|>"]
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.25, 9, 3)
    assert not {"logprobs", "reasoning_effort", "max_completion_tokens"} & set(body)
    assert reply.headers["toolwire-ignored-params"] == "logprobs, reasoning_effort"


@FAMILY
def test_the_model_stops_where_its_template_ends_a_turn(
    gateway: Gateway, backend: ScriptedServer, family: str
) -> None:
    backend.use("only_completions", "echo")
    answer(gateway, f"{family}/generic")
    assert sent(backend)["stop"] == [SHAPES[family].end]


@pytest.mark.parametrize(
    ("dialect", "limit"), [("vllm", None), ("llamacpp", -1), ("generic", 4096)]
)
def test_an_answer_is_not_cut_off_after_the_few_tokens_of_a_plain_completion(
    gateway: Gateway, backend: ScriptedServer, dialect: str, limit: int | None
) -> None:
    backend.use("only_completions", "echo")
    post(gateway, f"qwen25/{dialect}")
    assert sent(backend)["max_tokens"] == limit


@STREAMED
@pytest.mark.parametrize("dialect", ["vllm", "llamacpp"])
@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_demanded_call_is_constrained_where_the_server_can(
    gateway: Gateway, backend: ScriptedServer, dialect: str, stream: bool, choice: Any
) -> None:
    backend.use("only_completions+obeys_schema", "echo")
    fields = {"tools": TOOLS, "tool_choice": choice}
    outcome = answer(gateway, f"llama3/{dialect}", stream=stream, **fields)
    assert [name for name, _ in outcome.calls] == ["get_weather" if choice == NAMED else "now"]
    assert {"structured_outputs", "json_schema"} & set(sent(backend))


@pytest.mark.parametrize("dialect", ["vllm", "llamacpp"])
def test_text_may_have_the_form_that_the_client_wants_and_calls_may_be_made_all_the_same(
    gateway: Gateway, backend: ScriptedServer, dialect: str
) -> None:
    schema = {"type": "object", "properties": {"sum": {"const": 5}}, "required": ["sum"]}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    for said, calls in (
        ('{"sum": 5}', 0),
        ('{"tool_calls": [{"name": "now", "arguments": {}}]}', 1),
    ):
        backend.use("only_completions", [said])
        outcome = answer(gateway, f"qwen25/{dialect}", tools=TOOLS, response_format=form)
        assert (len(outcome.calls), outcome.content) == (calls, "" if calls else said)
        body = sent(backend)
        held = body.get("json_schema") or body["structured_outputs"]["json"]
        assert len(held["anyOf"]) == 2
        assert "response_format" not in body
    backend.use("only_completions", "echo")
    answer(gateway, f"qwen25/{dialect}", response_format=form)
    assert sent(backend).get("json_schema", sent(backend).get("response_format")) in (schema, form)


def test_a_server_that_cannot_be_held_to_a_form_is_told_it_in_words(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("only_completions", raw("hermes", CALLS))
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"title": "Sum"}}}
    assert answer(gateway, "qwen25/generic", tools=TOOLS, response_format=form).calls
    assert 'fits this JSON Schema: {"title": "Sum"}' in seen(backend, "qwen25")[0]["content"]


def error_of(reply: Reply) -> str:
    return str(read(reply).error)


def test_what_is_not_text_is_refused_with_its_place(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("only_completions", "echo")
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "What?"}, image]}]
    reply = post(gateway, "qwen25/generic", messages=messages)
    assert reply.status == 400
    assert "messages[0].content[1]" in error_of(reply)
    assert backend.requests == []


def test_a_server_without_chat_is_told_from_one_that_has_it(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("only_completions", "echo")
    assert "has no /chat/completions" in error_of(post(gateway, "chat"))
    assert "--chat-template" in error_of(post(gateway, "chat", tools=TOOLS))
    assert "has no /completions" in error_of(post(gateway, "qwen25/openai"))


def test_the_models_are_shown_with_their_format_and_why(gateway: Gateway) -> None:
    shown = json.loads(ask(gateway.port, path="/v1/models/llama3/generic").body)["toolwire"]
    ((found, reason),) = shown["formats"].values()
    assert found == "llama3_json"
    assert "the template contains" in reason
