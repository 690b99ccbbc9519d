"""Reading a body: what becomes of the parts that are right."""

import json
from typing import Any

import pytest
from tests.asking import given, parts
from tests.contract.wire import (
    READER,
    USER,
    asked,
    body,
    call,
    history,
    read,
    refusal,
    result,
    tool,
)

from toolwire.backends.openai.parts import WIRE
from toolwire.protocol.content import ImagePart, WireJson
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tool_cache import safe_name
from toolwire.protocol.tools import AssistantCall


def messages(*given: Any, **more: Any) -> tuple[ChatMessage, ...]:
    return READER.read(history(*given), **more).messages


def test_the_smallest_request_has_every_default() -> None:
    request = READER.read(body())
    assert (request.model, request.messages) == ("m", (ChatMessage("user", "hello"),))
    assert (request.stream, request.include_usage, request.parallel) == (False, False, True)
    assert (request.choice.mode, request.tools.tools, given(request)) == ("auto", {}, {})


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_every_role_is_known(role: str) -> None:
    assert messages({"role": role, "content": "x"})[0].role == role


@pytest.mark.parametrize("content", ["", "x", "\u0000", "😀 é"])
def test_text_stays_as_it_is(content: str) -> None:
    assert messages({"role": "user", "content": content})[0].content == content


def test_parts_are_kept_byte_for_byte() -> None:
    """A backend that takes images gets what the client sent: the same spacing, the same escapes."""
    part = b'{"type":  "image_url", "image_url": {"url": "data:\\u0041"}, "new": 1.0}'
    raw = b'{"model":"m","messages":[{"role":"user","content":[' + part + b"]}]}"
    assert READER.read(raw).messages[0].content == (
        ImagePart("data:A", None, WireJson(WIRE, part)),
    )


def test_a_result_may_have_parts() -> None:
    parts_sent = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    made = messages(asked(call()), result(content=parts_sent))[1]
    assert made.content == parts(*(json.dumps(part).encode() for part in parts_sent))


@pytest.mark.parametrize("content", [None, "", "Let me see."])
def test_content_and_calls_may_both_be_there(content: str | None) -> None:
    made = messages(asked(call(), content=content), result())[0]
    assert (made.content, len(made.calls)) == (content, 1)


def test_an_assistant_message_may_have_no_content_key() -> None:
    made = messages({"role": "assistant", "tool_calls": [call()]}, result())[0]
    assert made.content is None


@pytest.mark.parametrize("empty", [None, []])
def test_an_assistant_message_may_have_no_calls(empty: Any) -> None:
    assert messages({"role": "assistant", "content": "x", "tool_calls": empty})[0].calls == ()


def test_calls_are_read_with_their_kind() -> None:
    custom = {"id": "b", "type": "custom", "custom": {"name": "sh", "input": "not {JSON"}}
    made = messages(asked(call("a"), custom), result("a"), result("b"))[0].calls
    assert made == (AssistantCall("a", "f", "{}"), AssistantCall("b", "sh", "not {JSON", "custom"))


def test_a_call_without_a_type_is_a_function() -> None:
    untyped = {"id": "a", "function": {"name": "f", "arguments": ""}}
    assert messages(asked(untyped), result("a"))[0].calls[0].kind == "function"


def test_reasoning_and_names_are_kept() -> None:
    made = messages({"role": "assistant", "content": "x", "reasoning_content": "hm", "name": "bot"})
    assert (made[0].reasoning, made[0].name) == ("hm", "bot")


def test_the_name_of_a_result_is_of_no_interest() -> None:
    assert messages(asked(call()), {**result(), "name": "liar"})[1].name is None


def test_lenient_names_are_mapped_in_tools_choice_and_history_alike() -> None:
    name = "ping.now/v1"
    raw = body(
        messages=[USER, asked(call(name=name)), result()],
        tools=[tool(name)],
        tool_choice={"type": "function", "function": {"name": name}},
    )
    request = READER.read(raw, lenient_names=True)
    safe = safe_name(name)
    assert list(request.tools.tools) == [safe]
    assert request.choice.allowed == {safe}
    assert request.messages[1].calls[0].name == safe
    assert refusal(raw).param == "tools[0].function.name"


@pytest.mark.parametrize(
    ("fields", "stream", "usage"),
    [
        ({}, False, False),
        ({"stream": True}, True, False),
        ({"stream": True, "stream_options": {}}, True, False),
        ({"stream": True, "stream_options": None}, True, False),
        ({"stream": True, "stream_options": {"include_usage": None}}, True, False),
        ({"stream": True, "stream_options": {"include_usage": False}}, True, False),
        ({"stream": True, "stream_options": {"include_usage": True}}, True, True),
        ({"stream": True, "stream_options": {"include_obfuscation": False}}, True, False),
    ],
)
def test_usage_in_a_stream_is_only_for_who_asks(
    fields: dict[str, Any], stream: bool, usage: bool
) -> None:
    request = READER.read(body(**fields))
    assert (request.stream, request.include_usage) == (stream, usage)


def test_unknown_parameters_keep_their_bytes_for_a_backend_that_takes_them() -> None:
    request = READER.read(body(top_k=5, guided={"a": 1}))
    assert request.ignored == ("top_k", "guided")
    assert request.extras == {"top_k": b"5", "guided": b'{"a": 1}'}


@pytest.mark.parametrize("value", [True, False])
def test_parallel_calls_are_as_the_client_says(value: bool) -> None:
    request = READER.read(body(tools=[tool()], parallel_tool_calls=value))
    assert (request.parallel, request.adjusted) == (value, ())


def test_what_was_mended_in_the_tools_is_said() -> None:
    dangling = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Place"}}}
    assert read(body(tools=[tool("f", dangling)])).repairs == ("dangling_ref:f:#/$defs/Place",)
