"""Answers and chunks: odd ones are made right, and chunks give the answer they would have been."""

import json
from typing import Any

import msgspec
import pytest
from tests.scripted.play import play_stream, play_whole

from toolwire.client.answer import CallDelta, Chunk, ChunkChoice, Delta, FunctionDelta, Usage
from toolwire.client.errors import APIError, BadAnswer, ServerError, StreamBroken
from toolwire.client.streaming.accumulate import Accumulator
from toolwire.client.streaming.reader import StreamReader, read_body
from toolwire.client.wire import read_chunk, read_completion

WEATHER = [["get_weather", {"city": "Paris"}]]
SCRIPT = [{"text": "I look.", "reasoning": "Where?", "calls": [*WEATHER, ["get_time", {}]]}]


def body(**message: Any) -> bytes:
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "c", "choices": [choice]}).encode()


def streamed(data: bytes, size: int | None = None) -> Any:
    reader = StreamReader(as_events=True)
    for at in range(0, len(data), size or len(data)):
        reader.feed(data[at : at + (size or len(data))])
    if not reader.done:
        reader.finish()
    return reader.answer()


def comparable(answer: Any) -> Any:
    """An answer without what a server makes up for each."""
    plain = msgspec.to_builtins(answer)
    for choice in plain["choices"]:
        for call in choice["message"].get("tool_calls") or ():
            call["id"] = ""
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return plain


def test_an_answer_has_openais_shape() -> None:
    answer = read_completion(play_whole("std", SCRIPT).body)
    message = answer.choices[0].message
    assert message.content == "I look."
    assert message.tool_calls is not None
    assert message.tool_calls[0].function.name == "get_weather"
    assert json.loads(message.tool_calls[0].function.arguments) == {"city": "Paris"}
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.usage is not None
    assert (answer.text, len(answer.tool_calls)) == ("I look.", 2)


@pytest.mark.parametrize("size", [None, 1, 7])
def test_a_stream_gives_the_same_answer_as_a_whole_one(size: int | None) -> None:
    whole = read_completion(play_whole("std", SCRIPT).body)
    assert streamed(play_stream("std", SCRIPT).body, size) == whole


@pytest.mark.parametrize(
    "variant",
    [
        "args_null_first", "args_obj", "args_twice", "calls_in_one_delta", "content_parts", "crlf",
        "finish_merged", "id_missing", "idempty", "idnull", "idrepeat", "index_gap", "index_text",
        "name_late", "name_repeated", "name_split", "nochoiceindex", "nodone", "noindex", "norole",
        "notype", "nulls", "onechunk", "parallel_interleaved", "reasoning_field", "roleeach",
        "shared_index", "usage_every", "usage_in_finish", "multiline_data", "bom", "extra_fields",
    ],
)  # fmt: skip
def test_a_stream_of_an_odd_server_gives_the_usual_answer(variant: str) -> None:
    usual = comparable(read_completion(play_whole("std", SCRIPT).body))
    assert comparable(streamed(play_stream(variant, SCRIPT).body)) == usual


@pytest.mark.parametrize(
    "variant",
    ["args_obj", "content_missing", "content_parts", "id_missing", "norole", "notype",
     "nochoiceindex", "nulls", "reasoning_field", "extra_fields"],
)  # fmt: skip
def test_a_whole_answer_of_an_odd_server_is_the_usual_one(variant: str) -> None:
    usual = comparable(read_completion(play_whole("std", SCRIPT).body))
    assert comparable(read_body(play_whole(variant, SCRIPT).body)) == usual


@pytest.mark.parametrize("variant", ["args_null", "args_absent"])
def test_calls_without_arguments_have_none(variant: str) -> None:
    answers = [
        read_body(play_whole(variant, SCRIPT).body),
        streamed(play_stream(variant, SCRIPT).body),
    ]
    assert [call.function.arguments for one in answers for call in one.tool_calls] == [""] * 4


def test_the_old_function_call_is_a_call() -> None:
    script = [{"calls": WEATHER}]
    for answer in (
        read_body(play_whole("legacy_function_call", script).body),
        streamed(play_stream("legacy_function_call", script).body),
    ):
        (call,) = answer.tool_calls
        assert (call.function.name, json.loads(call.function.arguments)) == (
            "get_weather",
            {"city": "Paris"},
        )
        assert call.id


def test_a_message_can_be_sent_back_as_it_is() -> None:
    answer = read_completion(play_whole("std", [{"calls": WEATHER}]).body)
    sent = json.loads(msgspec.json.encode(answer.message))
    assert sent["role"] == "assistant"
    assert sent["content"] is None
    assert sent["tool_calls"][0]["type"] == "function"
    assert "refusal" not in sent


def test_what_the_attributes_do_not_hold_is_in_raw() -> None:
    answer = read_completion(play_whole("extra_fields", ["hello"]).body)
    assert answer.raw["x_scripted"] == {"odd": True}


def test_a_total_that_is_missing_is_added_up() -> None:
    assert Usage(3, 4).total_tokens == 7


@pytest.mark.parametrize("data", [b"", b"<html>", b'{"choices": "none"}', b"[1]", b"\xff\xfe"])
def test_what_is_no_answer_is_shown(data: bytes) -> None:
    with pytest.raises(BadAnswer):
        read_completion(data)


def test_an_answer_without_choices_is_no_answer() -> None:
    with pytest.raises(BadAnswer, match="no choices"):
        read_completion(b'{"id": "c", "choices": []}')


def test_an_error_in_place_of_an_answer_is_raised_with_its_facts() -> None:
    error = b'{"error": {"message": "full", "code": "busy", "param": "n", "type": "t"}}'
    for read in (read_completion, read_chunk):
        with pytest.raises(ServerError) as caught:
            read(error)
        facts = (caught.value.message, caught.value.code, caught.value.param, caught.value.type)
        assert facts == ("full", "busy", "n", "t")


@pytest.mark.parametrize("variant", ["midstream_error", "midstream_error_event"])
def test_an_error_in_a_stream_is_raised(variant: str) -> None:
    with pytest.raises(APIError, match=r"Scripted failure\."):
        streamed(play_stream(variant, SCRIPT).body)


@pytest.mark.parametrize("variant", ["eof_early", "eof_in_call", "done_in_call"])
def test_a_half_received_answer_is_never_complete(variant: str) -> None:
    with pytest.raises(StreamBroken):
        streamed(play_stream(variant, [{"calls": WEATHER}]).body)


def test_an_answer_that_is_streamed_unasked_is_read() -> None:
    answer = read_body(play_whole("stream_force", SCRIPT).body)
    assert (answer.text, len(answer.tool_calls)) == ("I look.", 2)


def test_a_stream_that_is_none_is_shown() -> None:
    with pytest.raises(BadAnswer, match="Welcome"):
        streamed(play_stream("html200", SCRIPT).body)


def test_a_stream_may_have_several_choices_and_logprobs() -> None:
    accumulator = Accumulator()
    for index, text in ((0, "a"), (1, "x"), (0, "b"), (1, "y")):
        delta = Delta(text)
        accumulator.feed(Chunk([ChunkChoice(delta, index, logprobs={"content": [text]})]))
    first, second = accumulator.answer().choices
    assert (first.message.content, second.message.content) == ("ab", "xy")
    assert first.logprobs == {"content": ["a", "b"]}


def test_two_calls_of_the_same_name_without_ids_and_indexes_are_two() -> None:
    accumulator = Accumulator()
    deltas = [CallDelta(function=FunctionDelta("f", text)) for text in ('{"n": 1}', '{"n": 2}')]
    for delta in deltas:
        accumulator.feed(Chunk([ChunkChoice(Delta(tool_calls=[delta]))]))
    calls = accumulator.answer().tool_calls
    assert [call.function.arguments for call in calls] == ['{"n": 1}', '{"n": 2}']
    assert calls[0].id != calls[1].id
