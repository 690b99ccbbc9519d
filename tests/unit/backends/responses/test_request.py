"""What a server with OpenAI's Responses API is sent."""

import json
from typing import Any

import msgspec
import pytest
from tests.contract.wire import USER, asked, body, call, read, result, tool

from toolwire.backends.dialects import DIALECTS
from toolwire.backends.responses.items import items_of
from toolwire.backends.responses.request import (
    WIRE,
    encode_request,
    is_ignored_format,
    is_ignored_reasoning,
)
from toolwire.protocol.content import FilePart, ImagePart, TextPart
from toolwire.protocol.requests import ChatMessage, Request, WireRequest
from toolwire.protocol.tools import AssistantCall

DIALECT = DIALECTS["responses"]
HELLO = {"type": "message", "role": "user", "content": "hello"}


def sent(model: str | None = None, **fields: Any) -> Any:
    """The body for a request to chat completions."""
    plan = read(body(**fields))
    return json.loads(b"".join(encode_request(plan.outgoing, DIALECT, model)))


def items(*messages: ChatMessage) -> list[Any]:
    return items_of(messages, DIALECT.call_ids)


def test_the_least_that_is_sent_stores_nothing() -> None:
    assert sent() == {"model": "m", "input": [HELLO], "store": False, "stream": False}


def test_the_backends_own_name_of_the_model_is_sent() -> None:
    made = sent("gpt-x", stream=True)
    assert (made["model"], made["stream"]) == ("gpt-x", True)


def test_the_first_system_messages_are_instructions_and_later_ones_stay_in_place() -> None:
    messages = [
        {"role": "system", "content": "One."},
        {"role": "developer", "content": "Two."},
        USER,
        {"role": "assistant", "content": "Hi."},
        {"role": "system", "content": "Late."},
        USER,
    ]
    made = sent(messages=messages)
    assert made["instructions"] == "One.\n\nTwo."
    assert made["input"] == [
        HELLO,
        {"type": "message", "role": "assistant", "content": "Hi."},
        {"type": "message", "role": "developer", "content": "Late."},
        HELLO,
    ]


def test_calls_and_results_are_items_of_their_own() -> None:
    messages = [
        USER,
        asked(call("a", "f", '{"x": [1]}'), call("b", "g", ""), content="Look."),
        result("b", ""),
        result("a", "one"),
    ]
    assert sent(messages=messages)["input"] == [
        HELLO,
        {"type": "message", "role": "assistant", "content": "Look."},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x": [1]}'},
        {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "one"},
        {"type": "function_call_output", "call_id": "b", "output": ""},
    ]


def test_encrypted_reasoning_goes_back_before_what_followed_it() -> None:
    thought = ChatMessage(
        "assistant", "Hi.", reasoning="plain", encrypted_reasoning=("gAAA1", "gAAA2")
    )
    assert items(thought) == [
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA1"},
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA2"},
        {"type": "message", "role": "assistant", "content": "Hi."},
    ]


def test_images_and_files_are_parts_also_of_results() -> None:
    parts = (TextPart("See:"), ImagePart("data:image/png;base64,AA"), FilePart("data:x", "a.pdf"))
    written = [
        {"type": "input_text", "text": "See:"},
        {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "auto"},
        {"type": "input_file", "file_data": "data:x", "filename": "a.pdf"},
    ]
    made = items(
        ChatMessage("user", parts),
        ChatMessage("assistant", None, (AssistantCall("a", "f", "{}"),)),
        ChatMessage("tool", parts, call_id="a"),
    )
    assert made[0]["content"] == written
    assert made[2]["output"] == written


def test_a_failed_result_says_so() -> None:
    calls = (AssistantCall("a", "f", "{}"),)
    made = items(
        ChatMessage("assistant", None, calls),
        ChatMessage("tool", "no file", call_id="a", is_error=True),
    )
    assert made[1]["output"] == "Error: no file"


def test_custom_calls_and_their_results_keep_their_types() -> None:
    made = items(
        ChatMessage("assistant", None, (AssistantCall("a", "patch", "*** x", kind="custom"),)),
        ChatMessage("tool", "ok", call_id="a"),
    )
    assert made == [
        {"type": "custom_tool_call", "call_id": "a", "name": "patch", "input": "*** x"},
        {"type": "custom_tool_call_output", "call_id": "a", "output": "ok"},
    ]


def test_tools_are_flat_and_strict_only_if_the_client_says_so() -> None:
    closed = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    strict = tool("g", strict=True, parameters=closed)
    made = sent(tools=[tool("f"), strict], parallel_tool_calls=False)
    assert [(spec["type"], spec["name"], spec["strict"]) for spec in made["tools"]] == [
        ("function", "f", False),
        ("function", "g", True),
    ]
    assert made["tools"][0]["parameters"]["type"] == "object"
    assert (made["tool_choice"], made["parallel_tool_calls"]) == ("auto", False)


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "function": {"name": "f"}}, {"type": "function", "name": "f"}),
    ],
)
def test_a_tool_choice_has_this_apis_form(choice: Any, written: Any) -> None:
    assert sent(tools=[tool("f")], tool_choice=choice)["tool_choice"] == written


def test_parameters_have_this_apis_names() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    described = {"name": "r", "schema": schema, "strict": True}
    made = sent(
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
        reasoning_effort="low",
        verbosity="low",
        logprobs=True,
        top_logprobs=2,
        response_format={"type": "json_schema", "json_schema": described},
        prompt_cache_key="k",
        service_tier="flex",
        metadata={"a": "b"},
    )
    assert made["max_output_tokens"] == 5
    assert (made["temperature"], made["top_p"], made["top_logprobs"]) == (0.5, 0.9, 2)
    assert made["reasoning"] == {"effort": "low"}
    assert made["include"] == ["message.output_text.logprobs"]
    assert made["text"] == {"format": {"type": "json_schema", **described}, "verbosity": "low"}
    assert (made["prompt_cache_key"], made["service_tier"]) == ("k", "flex")
    assert made["metadata"] == {"a": "b"}


def test_what_the_api_does_not_have_is_not_sent() -> None:
    made = sent(stop=["x"], seed=1, n=1, presence_penalty=0.5, store=True)
    assert made == {"model": "m", "input": [HELLO], "store": False, "stream": False}


def test_a_parameter_that_the_configuration_removes_is_not_sent() -> None:
    given = {"reasoning_effort": "low", "temperature": 0.5, "user": '"u"', "max_tokens": 5}
    plan = read(body(**given))
    dialect = DIALECT.with_params((), given)
    made = json.loads(b"".join(encode_request(plan.outgoing, dialect, None)))
    assert made == {"model": "m", "input": [HELLO], "store": False, "stream": False}


def test_an_effort_that_the_server_does_not_know_is_the_nearest_one() -> None:
    assert sent(reasoning_effort="max")["reasoning"] == {"effort": "xhigh"}


def test_a_format_of_other_servers_is_ignored() -> None:
    plan = read(body(response_format={"type": "structural_tag", "structures": []}))
    assert is_ignored_format(plan.request)
    assert "text" not in sent(response_format={"type": "structural_tag", "structures": []})


def test_fields_of_the_same_api_are_sent_as_they_are_and_those_of_others_are_not() -> None:
    plan = read(body(reasoning_effort="low"))
    fields = {"reasoning": b'{"effort":"low","summary":"auto"}', "truncation": b'"auto"'}
    for wire, expected in ((WIRE, {"effort": "low", "summary": "auto"}), ("x", {"effort": "low"})):
        origin = WireRequest(wire, fields, plan.request)
        request = msgspec.structs.replace(plan.request, origin=origin)
        outgoing = msgspec.structs.replace(plan.outgoing, request=request)
        made = json.loads(b"".join(encode_request(outgoing, DIALECT, None)))
        assert made["reasoning"] == expected
        assert made.get("truncation") == ("auto" if wire == WIRE else None)


@pytest.mark.parametrize(("sealed", "ignored"), [((), True), (("gAAA",), False)])
def test_reasoning_is_ignored_unless_a_server_of_this_api_encrypted_it(
    sealed: tuple[str, ...], *, ignored: bool
) -> None:
    said = ChatMessage("assistant", "a", reasoning="Hm.", encrypted_reasoning=sealed)
    request = Request("m", (ChatMessage("user", "b"), said, ChatMessage("user", "c")))
    assert is_ignored_reasoning(request) is ignored
