"""Each variant of what is said is odd in the stated way, streamed or not, and `std` is not."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.scripted.chunks import Chunk
from tests.scripted.play import names_in, play, play_stream, play_whole, read_stream
from tests.scripted.stage import Stage
from tests.scripted.variants import speech

SAID = [{"calls": [["write_file", {"path": "a.txt"}]]}]

ODD: dict[str, Callable[[Chunk], bool]] = {
    "content_and_tool": lambda message: bool(message["content"] and message["tool_calls"]),
    "reasoning": lambda message: message.get("reasoning_content", "").startswith("Thinking"),
    "reasoning_field": lambda message: (
        message.get("reasoning", "").startswith("Thinking") and "reasoning_content" not in message
    ),
    "reasoning_tags": lambda message: (message["content"] or "").startswith("<think>\n"),
    "badargs": lambda message: (
        message["tool_calls"][0]["function"]["arguments"] == '{"path": "a.txt", oops'
    ),
    "unknown_tool": lambda message: message["tool_calls"][0]["function"]["name"] == "no_such_tool",
    "empty_answer": lambda message: not message["content"] and "tool_calls" not in message,
    "text_call": lambda message: (
        message["content"]
        == '<tool_call>\n{"name": "write_file", "arguments": {"path": "a.txt"}}\n</tool_call>'
    ),
}


def message_of(name: str) -> Chunk:
    message: Chunk = json.loads(play_whole(name, SAID).body)["choices"][0]["message"]
    return message


def test_every_variant_of_speech_is_described_here() -> None:
    assert {*ODD, "parallel"} == names_in(speech)


@pytest.mark.parametrize("name", ODD)
def test_the_answer_is_odd_as_stated_and_std_is_not(name: str) -> None:
    assert ODD[name](message_of(name))
    assert not ODD[name](message_of("std"))


@pytest.mark.parametrize("name", ODD)
def test_the_stream_says_what_the_whole_answer_says(name: str) -> None:
    seen, message = read_stream(play_stream(name, SAID)), message_of(name)
    calls = message.get("tool_calls", [])
    assert seen.text == (message["content"] or "")
    for field in ("reasoning", "reasoning_content"):
        assert "".join(delta.get(field, "") for delta in seen.deltas) == message.get(field, "")
    assert "".join(function["arguments"] for function in seen.functions) == "".join(
        call["function"]["arguments"] for call in calls
    )


@pytest.mark.parametrize(("variant", "count"), [("std", 1), ("parallel", 2), ("parallel:3", 3)])
def test_parallel_asks_the_script_for_several_calls(variant: str, count: int) -> None:
    tools: list[Any] = [{"type": "function", "function": {"name": "next"}}]
    seen = read_stream(play_stream(variant, "many:20", tools=tools))
    assert len({call["index"] for call in seen.calls}) == count


@pytest.mark.parametrize("name", ["badargs", "unknown_tool"])
def test_only_the_first_call_is_spoiled(name: str) -> None:
    stage = Stage(name, SAID)
    play(stage, messages=[])
    message = json.loads(play(stage, messages=[]).body)["choices"][0]["message"]
    assert not ODD[name](message)


def test_reasoning_is_another_one_in_every_turn() -> None:
    first, second = (
        json.loads(play_whole("reasoning", SAID, messages=messages).body)["choices"][0]["message"]
        for messages in ([], [{"role": "assistant", "content": "x"}])
    )
    assert first["reasoning_content"] != second["reasoning_content"]
