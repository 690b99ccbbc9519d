"""The chunk contract: what each chunk of a stream has, has once, and never has."""

import json
import re
from typing import Any

import pytest
from tests.contract.chatting import Client, chat, speaking, streaming
from tests.contract.joining import join, same, whole
from tests.contract.wire import body, tool

from toolwire.errors import UpstreamError, UpstreamUnavailable
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.usage import TokenUsage

TOOLS = [tool("read"), tool("write")]
CALL = Fragment(calls=(CallFragment(0, "x1", "read", ""),))
MORE = Fragment(calls=(CallFragment(0, None, None, '{"path"'),))
REST = Fragment(calls=(CallFragment(0, None, None, ': "a"}'),))
SECOND = Fragment(calls=(CallFragment(1, "x2", "write", '{"n": 1}'),))
END = Fragment(finish="tool_calls")
TEXT = Fragment(text="Hi")
STOP = Fragment(finish="stop")


LIVE = {b"toolwire-profile": b"live"}
"""From a client that shows arguments while they arrive."""


def stream(*fragments: Fragment, usage: bool = False, live: bool = False, **more: Any) -> Client:
    """Ask for a stream of a backend that says this."""
    options = {"stream_options": {"include_usage": True}} if usage else {}
    raw = body(stream=True, tools=TOOLS, **options)
    return chat(raw, speaking(*fragments, **more), headers=LIVE if live else None)


def at_once(*fragments: Fragment, **more: Any) -> Client:
    """Ask the same for a whole answer."""
    return chat(body(tools=TOOLS), speaking(*fragments, **more))


def deltas(client: Client) -> list[dict[str, Any]]:
    """The deltas of the only choice."""
    return [chunk["choices"][0]["delta"] for chunk in client.chunks]


def test_a_text_is_exactly_these_bytes() -> None:
    head = (
        'data: {"id":"chatcmpl-00000000000000000000000000000000",'
        '"object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,'
    )
    open_end = ',"logprobs":null,"finish_reason":null}]}\n\n'
    assert stream(Fragment(text="Hé\n"), STOP).written.decode() == (
        f'{head}"delta":{{"role":"assistant","content":""}}{open_end}'
        f'{head}"delta":{{"content":"Hé\\n"}}{open_end}'
        f'{head}"delta":{{}},"logprobs":null,"finish_reason":"stop"}}]}}\n\n'
        "data: [DONE]\n\n"
    )


def test_the_content_type_is_that_of_an_event_stream() -> None:
    assert stream(STOP).headers["content-type"] == "text/event-stream; charset=utf-8"


def test_the_role_comes_once_and_content_is_null_in_a_turn_of_calls() -> None:
    first, *rest = deltas(stream(CALL, MORE, REST, END))
    assert first == {"role": "assistant", "content": None}
    assert all("role" not in delta for delta in rest)


def test_id_type_and_name_are_only_in_the_first_delta_of_a_call() -> None:
    _, start, more, rest, end = deltas(stream(CALL, MORE, REST, END, live=True))
    call_id = start["tool_calls"][0]["id"]
    function = {"name": "read", "arguments": ""}
    assert start["tool_calls"] == [
        {"index": 0, "id": call_id, "type": "function", "function": function}
    ]
    assert more == {"tool_calls": [{"index": 0, "function": {"arguments": '{"path"'}}]}
    assert rest == {"tool_calls": [{"index": 0, "function": {"arguments": ': "a"}'}}]}
    assert end == {}


def test_arguments_are_held_until_they_are_complete_for_a_client_that_does_not_show_them() -> None:
    _, start, more, end = deltas(stream(CALL, MORE, REST, END))
    assert start["tool_calls"][0]["function"] == {"name": "read", "arguments": ""}
    assert more == {"tool_calls": [{"index": 0, "function": {"arguments": '{"path": "a"}'}}]}
    assert end == {}


def test_text_is_not_held_with_the_arguments() -> None:
    client = stream(Fragment(text="Hi"), CALL, Fragment(text=" there"), error=UpstreamError("No."))
    said = [event["choices"][0]["delta"].get("content") for event in client.events[:-1]]
    assert "".join(filter(None, said)) == "Hi there"


def test_every_chunk_has_the_same_head_and_a_finish_reason() -> None:
    chunks = stream(Fragment(text="Hi"), CALL, MORE, REST, SECOND, END).chunks
    assert {
        (chunk["id"], chunk["object"], chunk["created"], chunk["model"]) for chunk in chunks
    } == {("chatcmpl-" + "0" * 32, "chat.completion.chunk", 1_700_000_000, "m")}
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
    assert reasons == [None] * (len(chunks) - 1) + ["tool_calls"]


def test_nothing_else_is_in_a_chunk() -> None:
    for chunk in stream(Fragment(text="Hi"), CALL, MORE, REST, END, usage=False).chunks:
        assert list(chunk) == ["id", "object", "created", "model", "choices"]
        assert list(chunk["choices"][0]) == ["index", "delta", "logprobs", "finish_reason"]


def test_calls_come_one_after_the_other_with_an_index_each() -> None:
    interleaved = (CALL, SECOND, MORE, REST, END)
    calls = join(stream(*interleaved).chunks)[0].calls
    assert [call["function"] for call in calls] == [
        {"name": "read", "arguments": '{"path": "a"}'},
        {"name": "write", "arguments": '{"n": 1}'},
    ]


def test_call_ids_are_ours_and_never_the_backends() -> None:
    calls = join(stream(CALL, MORE, REST, SECOND, END).chunks)[0].calls
    ids = [call["id"] for call in calls]
    assert all(re.fullmatch("call_[0-9a-f]{32}", call_id) for call_id in ids)
    assert len(set(ids)) == 2


@pytest.mark.parametrize("arguments", ["", None, "null", "  ", "{}", {}], ids=repr)
def test_a_call_without_arguments_has_an_empty_object(arguments: Any) -> None:
    fragments = (Fragment(calls=(CallFragment(0, "x", "read", arguments),)), END)
    streamed = join(stream(*fragments).chunks)[0].calls[0]
    assert streamed["function"]["arguments"] == "{}"
    assert whole(at_once(*fragments).json)[0].calls[0]["function"]["arguments"] == "{}"


def test_without_include_usage_no_chunk_speaks_of_it() -> None:
    spoken = stream(Fragment(text="Hi"), STOP, Fragment(usage=TokenUsage(3, 4)))
    assert all("usage" not in chunk for chunk in spoken.chunks)


def test_usage_is_null_and_then_comes_in_an_extra_chunk_without_choices() -> None:
    *chunks, last = stream(
        Fragment(text="Hi"), STOP, Fragment(usage=TokenUsage(3, 4)), usage=True
    ).chunks
    assert [chunk["usage"] for chunk in chunks] == [None] * len(chunks)
    assert all(chunk["choices"] for chunk in chunks)
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def test_of_usage_on_every_chunk_the_last_counts() -> None:
    def said(tokens: int) -> Fragment:
        return Fragment(usage=TokenUsage(5, tokens))

    client = stream(said(0), Fragment(text="Hi"), said(1), STOP, said(2), usage=True)
    assert [chunk["usage"]["total_tokens"] for chunk in client.chunks if chunk.get("usage")] == [7]


def test_usage_that_had_to_be_estimated_is_called_so() -> None:
    last = stream(Fragment(text="Hi"), STOP, usage=True).chunks[-1]
    assert last["usage"]["total_tokens"] > 0
    assert last["toolwire"] == {"usage": "estimated"}
    assert at_once(Fragment(text="Hi"), STOP).headers["toolwire-usage"] == "estimated"


def test_an_estimate_does_not_depend_on_other_requests() -> None:
    estimates = []
    for mode in ("native", "prompted", "native"):
        client = chat(body(tools=[tool("estimated")]), speaking(TEXT, STOP), mode=mode)
        estimates.append(client.json["usage"]["prompt_tokens"])
        chat(body(stream=True, tools=[tool("estimated"), *TOOLS]), speaking(TEXT, STOP), mode=mode)
    first, _, last = estimates
    assert first == last
    assert first > len(json.dumps(tool("estimated"))) // 8


@pytest.mark.parametrize("mode", ["native", "hybrid"])
def test_text_beside_usage_in_one_chunk_is_delivered(mode: Any) -> None:
    fragments = (
        Fragment(text="Hi ", usage=TokenUsage(3, 1)),
        Fragment(text="you", finish="stop", usage=TokenUsage(3, 2)),
    )
    for streamed in (True, False):
        client = chat(body(tools=TOOLS, stream=streamed), speaking(*fragments), mode=mode)
        joined = join(client.chunks) if streamed else whole(client.json)
        assert joined[0].content == "Hi you"


def test_a_stream_that_asked_for_no_usage_is_told_of_no_estimate() -> None:
    assert "toolwire" not in stream(Fragment(text="Hi"), STOP).chunks[-1]


def test_a_repair_in_mid_stream_is_said_on_the_last_chunk() -> None:
    doubled = Fragment(calls=(CallFragment(0, None, None, '{"path": "a"}'),))
    last = stream(CALL, MORE, REST, doubled, END).chunks[-1]
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert last["toolwire"] == {"repairs": ["arguments_repeated"]}


def test_a_break_in_mid_stream_is_an_error_event_with_four_keys_and_no_done() -> None:
    client = stream(Fragment(text="Hi"), error=UpstreamError("The backend broke."))
    assert client.events[-1] == {
        "error": {
            "message": "The backend 'backend' failed in the middle of its answer: The backend "
            "broke. The answer is incomplete. Send the request again; if that fails, look at the "
            "backend's log.",
            "type": "server_error",
            "param": None,
            "code": "upstream_error",
        }
    }
    assert b"[DONE]" not in client.written
    assert (client.aborted, client.ended) == (False, True)


@pytest.mark.parametrize("streamed", [True, False])
def test_a_break_inside_a_call_that_is_held_is_told_in_the_same_way(streamed: bool) -> None:
    client = chat(body(tools=TOOLS, stream=streamed), speaking(CALL, MORE, done=False))
    message = client.json["error"]["message"]
    assert client.status == 502
    assert message.startswith("The backend 'backend' failed in the middle of its answer: ")
    assert "Send the request again" in message


@pytest.mark.parametrize("done", [True, False])
def test_a_half_received_call_is_never_presented_as_complete(done: bool) -> None:
    for client in (stream(CALL, MORE, done=done, live=True), stream(TEXT, CALL, MORE, done=done)):
        assert b"[DONE]" not in client.written
        assert "error" in client.events[-1]
        reasons = [event["choices"][0]["finish_reason"] for event in client.events[:-1]]
        assert set(reasons) == {None}
    assert stream(CALL, MORE, done=done).status == 502


def test_a_break_before_the_first_chunk_has_its_own_status() -> None:
    client = stream(error=UpstreamError("The backend broke."))
    assert client.status == 502
    assert client.headers["content-type"] == "application/json"
    assert client.json["error"]["code"] == "upstream_error"


def test_a_break_of_a_whole_answer_leaves_nothing_of_it() -> None:
    client = at_once(Fragment(text="Hi"), CALL, MORE, error=UpstreamError("The backend broke."))
    assert client.status == 502
    assert list(client.json) == ["error"]


def disconnected() -> UpstreamUnavailable:
    """The connection broke in the middle of the answer."""
    error = UpstreamUnavailable("The backend closed the connection.")
    error.disconnected = True
    return error


@pytest.mark.parametrize("fragments", [(CALL, MORE, REST, END), (TEXT, STOP)])
def test_an_answer_is_complete_with_its_finish_reason_though_the_connection_breaks(
    fragments: tuple[Fragment, ...],
) -> None:
    broken = stream(*fragments, error=disconnected())
    assert broken.chunks == stream(*fragments).chunks
    assert at_once(*fragments, error=disconnected()).json == at_once(*fragments).json


@pytest.mark.parametrize(
    "fragments", [(), (TEXT,), (CALL, MORE, REST), (CALL, MORE, END), (CALL, MORE, STOP)]
)
def test_nothing_else_is_complete_if_the_connection_breaks(fragments: tuple[Fragment, ...]) -> None:
    assert "error" in stream(*fragments, error=disconnected()).written.decode()
    assert at_once(*fragments, error=disconnected()).status == 503


def test_every_choice_must_be_complete_if_the_connection_breaks() -> None:
    def ask(*fragments: Fragment) -> Client:
        return chat(body(n=2), speaking(TEXT, STOP, *fragments, error=disconnected()))

    assert ask().status == 503
    assert ask(Fragment(1, "you")).status == 503
    assert len(ask(Fragment(1, "you", finish="stop")).json["choices"]) == 2


def test_an_error_that_a_backend_reports_is_one_after_a_finish_reason_too() -> None:
    assert at_once(TEXT, STOP, error=UpstreamUnavailable("Overloaded.")).status == 503


def test_stop_with_calls_is_tool_calls_streamed_or_not() -> None:
    fragments = (CALL, MORE, REST, STOP)
    assert join(stream(*fragments).chunks)[0].finish_reason == "tool_calls"
    assert whole(at_once(*fragments).json)[0].finish_reason == "tool_calls"


def test_tool_calls_without_calls_is_stop() -> None:
    fragments = (Fragment(text="Hi"), END)
    assert join(stream(*fragments).chunks)[0].finish_reason == "stop"


def test_a_model_that_was_cut_off_within_a_call_finishes_with_length() -> None:
    fragments = (CALL, MORE, Fragment(finish="length"))
    joined = join(stream(*fragments).chunks)[0]
    assert joined.finish_reason == "length"
    assert joined.calls[0]["function"]["arguments"] == '{"path"'
    assert same({0: joined}, whole(at_once(*fragments).json))


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
def test_white_space_beside_calls_is_no_content(blank: str) -> None:
    fragments = (Fragment(text=blank), CALL, MORE, REST, Fragment(text=blank), END)
    assert join(stream(*fragments).chunks)[0].content is None
    assert whole(at_once(*fragments).json)[0].content is None


def test_several_choices_each_have_a_role_and_an_end() -> None:
    fragments = (
        Fragment(0, text="a"), Fragment(1, text="b"), Fragment(0, text="A"),
        Fragment(1, finish="stop"), Fragment(0, finish="length"),
    )  # fmt: skip
    choices = join(stream(*fragments).chunks)
    assert [(choice.content, choice.finish_reason) for choice in choices.values()] == [
        ("aA", "length"),
        ("b", "stop"),
    ]
    assert same(choices, whole(at_once(*fragments).json))


def test_reasoning_is_passed_on_beside_the_content() -> None:
    fragments = (Fragment(reasoning="Hm"), Fragment(reasoning="m"), Fragment(text="Hi"), STOP)
    joined = join(stream(*fragments).chunks)[0]
    assert (joined.reasoning, joined.content) == ("Hmm", "Hi")


def test_a_custom_call_is_streamed_as_custom() -> None:
    custom = {"type": "custom", "custom": {"name": "sh"}}
    said = (
        Fragment(calls=(CallFragment(0, "x", "sh", "l", custom=True),)),
        Fragment(calls=(CallFragment(0, None, None, "s", custom=True),)),
        END,
    )
    raw = body(stream=True, tools=[custom])
    call = join(chat(raw, speaking(*said), custom_tools=True).chunks)[0].calls[0]
    assert (call["type"], call["custom"]) == ("custom", {"name": "sh", "input": "ls"})


def test_a_whole_answer_has_every_field() -> None:
    answer = at_once(
        CALL, MORE, REST, END, Fragment(usage=TokenUsage(3, 4, {"cached_tokens": 1}))
    ).json
    assert answer == {
        "id": "chatcmpl-" + "0" * 32,
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "refusal": None,
                    "tool_calls": [
                        {
                            "id": f"call_{1:032x}",
                            "type": "function",
                            "function": {"name": "read", "arguments": '{"path": "a"}'},
                        }
                    ],
                },
                "logprobs": None,
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 1},
        },
    }


def test_a_text_answer_has_no_tool_calls_key() -> None:
    message = at_once(Fragment(text="Hi"), STOP).json["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "Hi", "refusal": None}


def test_logprobs_go_with_the_text_they_belong_to() -> None:
    logprobs = {"content": [{"token": "Hi", "logprob": -0.5, "bytes": None, "top_logprobs": []}]}
    said = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "logprobs": logprobs}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    streamed = chat(body(stream=True), streaming(said, end)).chunks
    assert [chunk["choices"][0]["logprobs"] for chunk in streamed] == [None, logprobs, None]
    answer = chat(body(), streaming(said, end)).json
    assert answer["choices"][0]["logprobs"] == logprobs


def test_a_refusal_is_passed_on() -> None:
    said = [
        {"choices": [{"index": 0, "delta": {"refusal": "I "}}]},
        {"choices": [{"index": 0, "delta": {"refusal": "cannot."}, "finish_reason": "stop"}]},
    ]
    assert chat(body(), streaming(*said)).json["choices"][0]["message"]["refusal"] == "I cannot."
    streamed = [json.dumps(chunk) for chunk in chat(body(stream=True), streaming(*said)).chunks]
    assert sum('"refusal": "cannot."' in chunk for chunk in streamed) == 1
