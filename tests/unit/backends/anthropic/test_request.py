"""What a server with Anthropic's Messages API is sent."""

import json
from typing import Any

import pytest
from tests.contract.wire import USER, asked, body, call, read, result, tool

from toolwire.backends.anthropic.blocks import turns_of
from toolwire.backends.anthropic.request import DEFAULT_MAX_TOKENS, encode_request
from toolwire.backends.dialects import DIALECTS
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall

DIALECT = DIALECTS["anthropic"]


def sent(model: str | None = None, **fields: Any) -> Any:
    """The body for a request to chat completions."""
    plan = read(body(**fields))
    return json.loads(b"".join(encode_request(plan.outgoing, DIALECT, model)))


def turns(*messages: Any) -> list[tuple[str, Any]]:
    return [(turn["role"], turn["content"]) for turn in sent(messages=list(messages))["messages"]]


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_the_least_that_the_api_demands() -> None:
    assert sent() == {
        "model": "m",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [text("hello")]}],
    }


def test_the_backends_own_name_of_the_model_is_sent() -> None:
    assert sent("claude-x", stream=True)["model"] == "claude-x"
    assert sent("claude-x", stream=True)["stream"] is True


def test_the_first_system_messages_are_the_system_prompt_and_later_ones_stay_in_place() -> None:
    messages = [
        {"role": "system", "content": "One."},
        {"role": "developer", "content": "Two."},
        USER,
        {"role": "assistant", "content": "Hi."},
        {"role": "system", "content": "Late."},
        USER,
    ]
    made = sent(messages=messages)
    assert made["system"] == "One.\n\nTwo."
    assert made["messages"][2]["content"] == [
        text("<system-reminder>\nLate.\n</system-reminder>"), text("hello"),
    ]  # fmt: skip


def test_calls_and_results_are_blocks_and_results_come_first() -> None:
    made = turns(
        USER,
        asked(call("a", "f", '{"x": [1]}'), call("b", "g", ""), content="Look."),
        result("b", ""),
        result("a", "one"),
        USER,
    )
    assert made[1] == (
        "assistant",
        [
            text("Look."),
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": [1]}},
            {"type": "tool_use", "id": "b", "name": "g", "input": {}},
        ],
    )
    assert made[2] == (
        "user",
        [
            {"type": "tool_result", "tool_use_id": "a", "content": [text("one")]},
            {"type": "tool_result", "tool_use_id": "b", "content": [text("(no output)")]},
            text("hello"),
        ],
    )


def test_a_failed_tool_says_so() -> None:
    made = turns_of(
        [
            ChatMessage("assistant", None, (AssistantCall("a", "f", "{}"),)),
            ChatMessage("tool", "no such file", call_id="a", is_error=True),
        ],
        "anthropic",
    )
    assert made[1].content[0]["is_error"] is True


@pytest.mark.parametrize("call_id", ["call.1", "fünf", "a" * 65, "x:y"])
def test_ids_that_the_api_refuses_are_replaced_in_call_and_result(call_id: str) -> None:
    made = turns(USER, asked(call(call_id)), result(call_id))
    used, answered = made[1][1][0]["id"], made[2][1][0]["tool_use_id"]
    assert used == answered
    assert used.startswith("toolu_")
    assert len(used) == 30


def test_images_and_documents_are_blocks_with_their_sources() -> None:
    parts = [
        {"type": "text", "text": "See:"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,BBBB",
                                  "filename": "a.pdf"}},
    ]  # fmt: skip
    ((_, blocks),) = turns({"role": "user", "content": parts})
    assert [block.get("source") for block in blocks] == [
        None,
        {"type": "base64", "media_type": "image/png", "data": "AAAA"},
        {"type": "url", "url": "https://example.com/x.png"},
        {"type": "base64", "media_type": "application/pdf", "data": "BBBB"},
    ]
    assert blocks[3]["title"] == "a.pdf"


def test_no_block_is_empty() -> None:
    made = turns(USER, {"role": "assistant", "content": "  "}, USER)
    assert made == [("user", [text("hello"), text("hello")])]


def test_tools_have_the_apis_form() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    made = sent(tools=[tool("f", schema, description="Does f."), tool("g")])
    assert made["tools"] == [
        {"name": "f", "description": "Does f.", "input_schema": schema},
        {"name": "g", "input_schema": {"type": "object", "properties": {}}},
    ]


@pytest.mark.parametrize(
    ("choice", "value"),
    [
        ("auto", {"type": "auto"}),
        ("required", {"type": "any"}),
        ("none", {"type": "none"}),
        ({"type": "function", "function": {"name": "f"}}, {"type": "tool", "name": "f"}),
    ],
)
def test_a_tool_choice_is_translated(choice: Any, value: Any) -> None:
    made = sent(tools=[tool("f"), tool("g")], tool_choice=choice)
    assert made["tool_choice"] == value


def test_one_call_at_a_time_is_part_of_the_choice() -> None:
    made = sent(tools=[tool()], parallel_tool_calls=False)
    assert made["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}


def test_parameters_go_under_the_apis_names() -> None:
    sampling = {"max_completion_tokens": 7, "temperature": 1.5, "top_p": 1, "top_k": 3, "seed": 1}
    made = sent(**sampling, stop=["a", "b"], user="u")
    rest = {name: value for name, value in made.items() if name not in ("model", "messages")}
    assert rest == {
        "max_tokens": 7,
        "temperature": 1.0,
        "stop_sequences": ["a", "b"],
        "metadata": {"user_id": "u"},
        "top_k": 3,
    }


def test_a_json_schema_of_the_text_is_passed_on() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    made = sent(response_format=wanted)
    assert made["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
