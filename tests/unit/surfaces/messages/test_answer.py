"""Answers, streamed and whole: the same blocks, and every event as the official client types it."""

from typing import Any

import pytest
from tests.contract.chatting import Backend, speaking, streaming
from tests.contract.messaging import TOOL, blocks, ending, events, message

from toolwire.errors import UpstreamError
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.messages.thinking import is_changed, signature

STREAMED = pytest.mark.parametrize("stream", [False, True])
THINK = {"thinking": {"type": "adaptive"}}


def call(index: int, name: str | None = "get_weather", arguments: str = "{}") -> Fragment:
    return Fragment(calls=(CallFragment(index, f"x{index}" if name else None, name, arguments),))


TWO_CALLS = (
    Fragment(reasoning="Hm, "),
    Fragment(reasoning="rain?"),
    Fragment(text="Let me "),
    Fragment(text="see."),
    call(0, arguments='{"city":'),
    call(0, None, '"Paris"}'),
    call(1, arguments='{"city":"Oslo"}'),
    Fragment(finish="tool_calls"),
    Fragment(usage=TokenUsage(70, 5, {"cached_tokens": 40}, {"reasoning_tokens": 2})),
)


def said(*fragments: Fragment, stream: bool, **fields: Any) -> Any:
    return message(speaking(*fragments), stream=stream, tools=[TOOL], **fields)


@STREAMED
def test_thinking_text_and_calls_are_blocks_in_their_order(stream: bool) -> None:
    answer = said(*TWO_CALLS, stream=stream, **THINK)
    assert blocks(answer) == [
        {"type": "thinking", "thinking": "Hm, rain?", "signature": signature("Hm, rain?")},
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}},
        {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"city": "Oslo"}},
    ]
    assert ending(answer)["stop_reason"] == "tool_use"


@STREAMED
def test_the_figures_of_the_input_add_up_to_the_prompt(stream: bool) -> None:
    assert ending(said(*TWO_CALLS, stream=stream))["usage"] == {
        "input_tokens": 30,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 40,
        "output_tokens": 5,
        "output_tokens_details": {"thinking_tokens": 2},
    }


@STREAMED
def test_without_usage_from_the_backend_there_is_an_estimate_that_is_never_nothing(
    stream: bool,
) -> None:
    usage = ending(said(Fragment(text="Hi", finish="stop"), stream=stream))["usage"]
    assert usage["input_tokens"] > 20
    assert usage["output_tokens"] >= 1


@STREAMED
@pytest.mark.parametrize("fields", [{}, {"thinking": {"type": "disabled"}}])
def test_thinking_that_nobody_asked_for_is_left_out(stream: bool, fields: dict[str, Any]) -> None:
    answer = said(*TWO_CALLS, stream=stream, **fields)
    assert [block["type"] for block in blocks(answer)] == ["text", "tool_use", "tool_use"]


@STREAMED
def test_an_answer_of_thinking_alone_has_an_empty_text(stream: bool) -> None:
    answer = said(Fragment(reasoning="Hm."), Fragment(finish="stop"), stream=stream, **THINK)
    assert blocks(answer)[1:] == [{"type": "text", "text": ""}]
    assert ending(answer)["stop_reason"] == "end_turn"


@STREAMED
def test_an_empty_answer_has_one_empty_text(stream: bool) -> None:
    answer = said(Fragment(finish="stop"), stream=stream)
    assert blocks(answer) == [{"type": "text", "text": ""}]


@STREAMED
def test_a_call_without_arguments_has_an_empty_object(stream: bool) -> None:
    answer = said(call(0, arguments=""), Fragment(finish="tool_calls"), stream=stream)
    assert blocks(answer)[0]["input"] == {}


@STREAMED
@pytest.mark.parametrize(
    ("fragments", "reason"),
    [
        ([Fragment(text="Hi", finish="stop")], "end_turn"),
        ([Fragment(text="Hi", finish="length")], "max_tokens"),
        ([Fragment(text="Hi", finish="content_filter")], "refusal"),
        ([Fragment(text="Hi")], "end_turn"),
        ([call(0), Fragment(finish="stop")], "tool_use"),
        ([call(0), Fragment(finish="length")], "tool_use"),
        ([call(0, arguments='{"city": "Par'), Fragment(finish="length")], "max_tokens"),
    ],
)
def test_why_an_answer_ended(stream: bool, fragments: list[Fragment], reason: str) -> None:
    answer = said(*fragments, stream=stream)
    assert ending(answer)["stop_reason"] == reason


def test_arguments_come_in_deltas_and_never_in_the_start_of_a_block() -> None:
    made = events(said(*TWO_CALLS, stream=True))
    starts = [event["content_block"] for event in made if event["type"] == "content_block_start"]
    assert [block["input"] for block in starts if block["type"] == "tool_use"] == [{}, {}]


def test_a_stream_begins_with_the_message_and_an_estimate_of_its_prompt() -> None:
    start, *_ = events(said(*TWO_CALLS, stream=True))
    assert start["message"]["content"] == []
    assert start["message"]["stop_reason"] is None
    assert start["message"]["usage"]["input_tokens"] > 20
    assert start["message"]["model"] == "m"


def test_text_that_comes_within_a_call_follows_it() -> None:
    mixed = Fragment(text="By the way", calls=(CallFragment(0, None, None, '"Oslo"}'),))
    answer = said(call(0, arguments='{"city":'), mixed, Fragment(finish="tool_calls"), stream=True)
    assert {block["type"] for block in blocks(answer)} == {"text", "tool_use"}


def test_a_renamed_tool_is_called_by_the_clients_name() -> None:
    name = "mcp__" + "x" * 90
    backend = Backend()
    message(backend, tools=[{**TOOL, "name": name}])
    (safe,) = backend.opened[0].tools.tools
    answer = message(
        speaking(call(0, safe), Fragment(finish="tool_calls")), tools=[{**TOOL, "name": name}]
    )
    assert blocks(answer)[0]["name"] == name


def test_arguments_that_are_no_object_are_reported_and_never_break_the_message() -> None:
    cut = said(call(0, arguments='{"city": [1,'), Fragment(finish="length"), stream=False)
    assert isinstance(blocks(cut)[0]["input"], dict)


def test_a_signature_is_that_of_its_text() -> None:
    assert not is_changed("Hm.", signature("Hm."))
    assert is_changed("Ha.", signature("Hm."))
    assert not is_changed("Ha.", "of another provider")


@STREAMED
@pytest.mark.parametrize("name", ["stop_reason", "matched_stop"])
def test_the_stop_sequence_that_a_server_names_is_the_reason(stream: bool, name: str) -> None:
    choice = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop", name: "##"}
    client = message(streaming({"choices": [choice]}), stream=stream, stop_sequences=["#!", "##"])
    end = ending(client)
    assert (end["stop_reason"], end["stop_sequence"]) == ("stop_sequence", "##")


@STREAMED
@pytest.mark.parametrize("met", [2, "</s>", None])
def test_a_stop_of_the_servers_own_is_the_end_of_the_turn(stream: bool, met: Any) -> None:
    choice = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop", "stop_reason": met}
    client = message(streaming({"choices": [choice]}), stream=stream, stop_sequences=["##"])
    assert ending(client)["stop_reason"] == "end_turn"


@STREAMED
def test_a_context_that_the_backend_calls_full_is_the_reason(stream: bool) -> None:
    choice = {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "model_length"}
    client = message(streaming({"choices": [choice]}), stream=stream)
    assert ending(client)["stop_reason"] == "model_context_window_exceeded"


STOPS = ["a1", "a2", "a3", "a4", "STOP"]


@STREAMED
def test_a_stop_sequence_that_the_backend_was_not_given_ends_the_answer(stream: bool) -> None:
    usage = Fragment(usage=TokenUsage(7, 3))
    backend = speaking(Fragment(text="Hello ST"), Fragment(text="OP and"), Fragment(text=" more"))
    client = message(backend, stream=stream, stop_sequences=STOPS)
    assert blocks(client) == [{"type": "text", "text": "Hello "}]
    assert ending(client)["stop_reason"] == "stop_sequence"
    assert ending(client)["stop_sequence"] == "STOP"
    whole = Backend([[Fragment(text="Hello STOP and more", finish="length"), usage]])
    client = message(whole, stream=stream, stop_sequences=STOPS)
    assert (ending(client)["stop_sequence"], ending(client)["usage"]["output_tokens"]) == (
        "STOP",
        3,
    )


def test_a_backend_is_not_read_beyond_a_stop_sequence() -> None:
    backend = speaking(Fragment(text="STOP"), error=UpstreamError("It should not be read so far."))
    client = message(backend, stream=True, stop_sequences=STOPS)
    assert ending(client)["stop_sequence"] == "STOP"


def test_a_model_that_thinks_for_long_is_not_silent_although_its_thinking_is_not_shown() -> None:
    thoughts = [Fragment(reasoning="word " * 20) for _ in range(50)]
    made = events(said(*thoughts, Fragment(text="Hi", finish="stop"), stream=True))
    kinds = [event["type"] for event in made]
    assert kinds[:2] == ["message_start", "ping"]
    assert 5 < kinds.count("ping") < 15
    assert kinds.count("content_block_start") == 1
