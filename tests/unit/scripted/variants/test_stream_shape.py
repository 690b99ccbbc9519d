"""Each variant of the stream's shape is odd in the stated way, and `std` is not."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.scripted.play import Seen, names_in, play_stream, play_whole, read_stream
from tests.scripted.variants import stream_shape

SAID = [{"text": "Hello there", "calls": [["write_file", {"path": "a.txt", "content": "one two"}]]}]
SILENT_CALL = [{"calls": [["write_file", {"path": "a.txt", "content": "one two"}]]}]

STREAM: dict[str, Callable[[Seen], bool]] = {
    "nousage": lambda seen: not any("usage" in chunk for chunk in seen.chunks),
    "usage_in_finish": lambda seen: (
        bool(seen.chunks[-1]["choices"]) and seen.chunks[-1]["usage"]["total_tokens"] > 0
    ),
    "usage_every": lambda seen: all(chunk["usage"] for chunk in seen.chunks),
    "usage_extra": lambda seen: (
        "total_tokens" not in seen.chunks[-1]["usage"] and "queue_time" in seen.chunks[-1]["usage"]
    ),
    "norole": lambda seen: not any("role" in delta for delta in seen.deltas),
    "roleeach": lambda seen: all(delta.get("role") == "assistant" for delta in seen.deltas),
    "nofinish": lambda seen: not seen.finishes,
    "finish_stop": lambda seen: seen.finishes == ["stop"],
    "lengthcut": lambda seen: seen.finishes == ["length"],
    "finish_unknown": lambda seen: seen.finishes == ["eos_token"],
    "finish_merged": lambda seen: bool(seen.finishes and seen.deltas[-1].get("tool_calls")),
    "finish_absent": lambda seen: (
        "finish_reason" not in seen.choices[0] and seen.finishes == ["tool_calls"]
    ),
    "content_missing": lambda seen: "content" not in seen.deltas[0],
    "content_empty": lambda seen: all(isinstance(delta["content"], str) for delta in seen.deltas),
    "content_parts": lambda seen: seen.deltas[1]["content"] == [{"type": "text", "text": "Hello "}],
    "emptychoices_first": lambda seen: seen.chunks[0]["choices"] == [],
    "extra_fields": lambda seen: all(
        "x_scripted" in level
        for level in (seen.chunks[0], seen.choices[0], seen.deltas[0], *seen.calls, *seen.functions)
    ),
    "noobject": lambda seen: not any("object" in chunk for chunk in seen.chunks),
    "noid": lambda seen: not any("id" in chunk for chunk in seen.chunks),
    "nomodel": lambda seen: not any("model" in chunk for chunk in seen.chunks),
    "nochoiceindex": lambda seen: not any("index" in choice for choice in seen.choices),
    "id_changes": lambda seen: len({chunk["id"] for chunk in seen.chunks}) == len(seen.chunks),
    "nulls": lambda seen: all(delta.get("refusal", 1) is None for delta in seen.deltas),
}

WHOLE: dict[str, Callable[[dict[str, Any]], bool]] = {
    "nousage": lambda body: "usage" not in body,
    "usage_extra": lambda body: "total_tokens" not in body["usage"],
    "norole": lambda body: "role" not in body["choices"][0]["message"],
    "nofinish": lambda body: body["choices"][0]["finish_reason"] is None,
    "finish_stop": lambda body: body["choices"][0]["finish_reason"] == "stop",
    "lengthcut": lambda body: body["choices"][0]["finish_reason"] == "length",
    "finish_unknown": lambda body: body["choices"][0]["finish_reason"] == "eos_token",
    "content_missing": lambda body: "content" not in body["choices"][0]["message"],
    "content_empty": lambda body: body["choices"][0]["message"]["content"] == "",
    "extra_fields": lambda body: "x_scripted" in body["choices"][0]["message"]["tool_calls"][0],
    "noobject": lambda body: "object" not in body,
    "noid": lambda body: "id" not in body,
    "nomodel": lambda body: "model" not in body,
    "nochoiceindex": lambda body: "index" not in body["choices"][0],
    "nulls": lambda body: body["choices"][0]["message"].get("refusal", 1) is None,
}


def test_every_variant_of_the_stream_shape_is_described_here() -> None:
    assert set(STREAM) == names_in(stream_shape)


@pytest.mark.parametrize("name", STREAM)
def test_the_stream_is_odd_as_stated_and_std_is_not(name: str) -> None:
    is_odd = STREAM[name]
    assert is_odd(read_stream(play_stream(name, SAID)))
    assert not is_odd(read_stream(play_stream("std", SAID)))


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_answer_is_odd_as_stated_and_std_is_not(name: str) -> None:
    is_odd = WHOLE[name]
    assert is_odd(json.loads(play_whole(name, SILENT_CALL).body))
    assert not is_odd(json.loads(play_whole("std", SILENT_CALL).body))


def test_content_parts_are_in_the_whole_answer_too() -> None:
    message = json.loads(play_whole("content_parts", ["Hello"]).body)["choices"][0]["message"]
    assert message["content"] == [{"type": "text", "text": "Hello"}]
