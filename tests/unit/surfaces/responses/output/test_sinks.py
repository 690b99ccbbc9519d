"""What clients see of a turn: the exact events, and the same items in a whole answer."""

import pytest
from tests.contract.chatting import Backend, speaking
from tests.unit.surfaces.responses.responding import (
    CALLED,
    END,
    PATCH,
    WEATHER,
    Answer,
    ask,
    call,
    piece,
)

from toolwire.errors import UpstreamError, UpstreamRefused, UpstreamUnavailable
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import make_plan
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.surfaces.exchange import HttpRequest
from toolwire.surfaces.responses.output.response import ResponseHead
from toolwire.surfaces.responses.output.sinks import ResponseContext, ResponseStreamSink
from toolwire.surfaces.responses.request.tools import NO_OFFER

BOTH = pytest.mark.parametrize("stream", [False, True])
CALL = (piece('{"city":', name="get_weather"), piece('"Paris"}'))
OPENING = ["created", "in_progress"]
MESSAGE = [
    "output_item.added",
    "content_part.added",
    "output_text.delta",
    "output_text.done",
    "content_part.done",
    "output_item.done",
]


def test_text_is_a_message_with_every_event_that_the_helpers_need() -> None:
    answer = ask(stream=True)
    assert answer.kinds == [*OPENING, *MESSAGE, "completed"]
    assert answer.headers["content-type"].startswith("text/event-stream")
    (item,) = answer.output
    assert item["content"] == [
        {"type": "output_text", "text": "Hello.", "annotations": [], "logprobs": []}
    ]
    assert item["status"] == "completed"


def test_a_call_is_streamed_as_it_is_written() -> None:
    answer = ask(speaking(*CALL, CALLED), stream=True, tools=[WEATHER], profile="live")
    arguments = "function_call_arguments"
    assert answer.kinds == [
        *OPENING, "output_item.added", f"{arguments}.delta", f"{arguments}.delta",
        f"{arguments}.done", "output_item.done", "completed",
    ]  # fmt: skip
    deltas = [event["delta"] for event in answer.stream if "delta" in event]
    assert deltas == ['{"city":', '"Paris"}']
    (item,) = answer.output
    assert (item["name"], item["arguments"]) == ("get_weather", '{"city":"Paris"}')
    assert item["id"].startswith("fc_")
    assert item["call_id"].startswith("call_")


def test_an_item_has_one_id_wherever_it_appears() -> None:
    answer = ask(
        speaking(Fragment(text="Let me see."), *CALL, CALLED), stream=True, tools=[WEATHER]
    )
    for index, item in enumerate(answer.output):
        about = [event for event in answer.stream if event.get("output_index") == index]
        ids = {event.get("item_id") or event["item"]["id"] for event in about}
        assert ids == {item["id"]}


SPOKEN = [
    Fragment(reasoning="I should look."),
    Fragment(text="Let me see."),
    call("get_weather", '{"city":"Paris"}'),
    call("apply_patch", '{"input":"*** Begin Patch\\n"}', 1),
    CALLED,
]


def test_a_whole_answer_has_the_same_items_as_a_stream() -> None:
    asked = {"tools": [WEATHER, PATCH], "include": ["reasoning.encrypted_content"]}
    streamed, whole = (ask(speaking(*SPOKEN), stream=s, **asked).output for s in (True, False))
    for item in (*streamed, *whole):
        item.pop("id")
        item.pop("call_id", None)
    assert streamed == whole
    assert [item["type"] for item in whole] == [
        "reasoning", "message", "function_call", "custom_tool_call",
    ]  # fmt: skip


def test_reasoning_is_the_summary() -> None:
    answer = ask(speaking(Fragment(reasoning="Hm."), Fragment(text="Hello."), END), stream=True)
    part = "reasoning_summary_part"
    assert answer.kinds == [
        *OPENING, "output_item.added", f"{part}.added", "reasoning_summary_text.delta",
        "reasoning_summary_text.done", f"{part}.done", "output_item.done", *MESSAGE, "completed",
    ]  # fmt: skip
    assert answer.output[0]["summary"] == [{"type": "summary_text", "text": "Hm."}]
    assert answer.output[0]["encrypted_content"] is None


@BOTH
def test_reasoning_alone_is_followed_by_an_empty_message(stream: bool) -> None:
    answer = ask(speaking(Fragment(reasoning="Hm."), END), stream=stream)
    assert [item["type"] for item in answer.output] == ["reasoning", "message"]
    assert answer.output[1]["content"][0]["text"] == ""


@BOTH
def test_an_empty_answer_is_an_empty_message(stream: bool) -> None:
    answer = ask(speaking(END), stream=stream)
    assert [item["type"] for item in answer.output] == ["message"]
    assert answer.response["status"] == "completed"


def test_text_after_a_call_is_a_message_of_its_own() -> None:
    parts = (Fragment(text="a"), CALL[0], Fragment(text="b"), CALL[1], CALLED)
    answer = ask(speaking(*parts), tools=[WEATHER], stream=True, profile="live")
    before, made, after = answer.output
    assert (before["content"][0]["text"], after["content"][0]["text"]) == ("a", "b")
    assert made["arguments"] == '{"city":"Paris"}'


def test_a_refusal_is_a_part_of_its_own() -> None:
    refusal = Fragment(extras=(("refusal", b'"No."'),))
    answer = ask(speaking(refusal, END), stream=True)
    assert "refusal.delta" in answer.kinds
    assert answer.output[0]["content"] == [{"type": "refusal", "refusal": "No."}]


def test_a_custom_tool_gets_its_text_and_not_json() -> None:
    backend = speaking(
        piece('{"inp', name="apply_patch"), piece('ut":"a\\'), piece('n\\u00e9\\ud83d'),
        piece('\\ude00b"}'), CALLED,
    )  # fmt: skip
    answer = ask(backend, stream=True, tools=[PATCH], profile="live")
    deltas = [event["delta"] for event in answer.stream if "delta" in event]
    assert "".join(deltas) == "a\né😀b"
    assert len(deltas) > 1
    (item,) = answer.output
    assert (item["type"], item["input"], item["status"]) == (
        "custom_tool_call", "a\né😀b", "completed",
    )  # fmt: skip
    assert item["id"].startswith("ctc_")


@BOTH
@pytest.mark.parametrize(
    "arguments", ['{"patch":"*** Begin Patch\\n"}', '"*** Begin Patch\\n"', "*** Begin Patch\n"]
)
def test_a_custom_tool_gets_its_text_however_the_model_wraps_it(
    arguments: str, stream: bool
) -> None:
    answer = ask(speaking(call("apply_patch", arguments), CALLED), stream=stream, tools=[PATCH])
    assert answer.output[0]["type"] == "custom_tool_call"
    assert answer.output[0]["input"] == "*** Begin Patch\n"


def test_a_call_that_is_cut_off_is_never_done() -> None:
    backend = speaking(CALL[0], Fragment(finish="length"))
    answer = ask(backend, stream=True, tools=[WEATHER])
    assert "output_item.done" not in answer.kinds
    assert answer.kinds[-1] == "incomplete"
    assert answer.response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert answer.output[0]["status"] == "incomplete"


@BOTH
def test_length_after_a_complete_call_is_not_incomplete(stream: bool) -> None:
    backend = speaking(*CALL, Fragment(finish="length"))
    answer = ask(backend, stream=stream, tools=[WEATHER])
    assert answer.response["status"] == "completed"
    assert answer.output[0]["status"] == "completed"


@BOTH
@pytest.mark.parametrize(
    ("finish", "reason"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_text_that_is_cut_off_is_incomplete(stream: bool, finish: str, reason: str) -> None:
    answer = ask(speaking(Fragment(text="He"), Fragment(finish=finish)), stream=stream)
    assert answer.response["status"] == "incomplete"
    assert answer.response["incomplete_details"] == {"reason": reason}
    assert answer.output[0]["status"] == "incomplete"


def test_a_backend_that_dies_in_a_call_fails_the_response_in_two_ways() -> None:
    backend = Backend([[CALL[0]]], error=UpstreamError("It broke."))
    answer = ask(backend, stream=True, tools=[WEATHER], profile="live")
    assert answer.kinds[-2:] == ["error", "failed"]
    assert "output_item.done" not in answer.kinds
    error, failed = answer.stream[-2:]
    assert failed["response"]["error"]["message"] == error["message"]
    assert failed["response"]["error"]["code"] == error["code"] == "server_error"
    assert failed["response"]["status"] == "failed"


def test_what_a_backend_refuses_for_good_is_not_asked_again() -> None:
    backend = Backend([[Fragment(text="a")]], error=UpstreamRefused("No.", status=400))
    failed = ask(backend, stream=True).stream[-1]["response"]
    assert failed["error"]["code"] == "invalid_prompt"


FULL = UpstreamRefused("Too long.", status=400, code="context_length_exceeded")


def test_a_full_context_is_an_http_error() -> None:
    answer = ask(Backend(refusal=FULL), stream=True)
    assert answer.status == 400
    assert answer.json["error"]["code"] == "context_length_exceeded"
    assert answer.json["error"]["param"] == "input"


def test_codex_hears_of_a_full_context_in_a_stream() -> None:
    answer = ask(Backend(refusal=FULL), stream=True, agent="codex_exec/0.166.0")
    assert answer.kinds == [*OPENING, "error", "failed"]
    assert answer.response["error"]["code"] == "context_length_exceeded"
    assert answer.headers["toolwire-profile"] == "codex"


def test_an_error_before_the_stream_has_its_own_status() -> None:
    refusal = UpstreamUnavailable("Slow down.", retry_after=3, rate_limited=True)
    answer = ask(Backend(refusal=refusal), stream=True)
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")
    assert answer.json["error"]["code"] == "rate_limit_exceeded"


def test_usage_has_both_objects_of_details() -> None:
    assert ask().response["usage"] == {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    }


@BOTH
def test_usage_that_nobody_reported_is_estimated_and_called_that(stream: bool) -> None:
    answer = ask(speaking(Fragment(text="Hello."), Fragment(finish="stop")), stream=stream)
    assert answer.response["usage"]["output_tokens"] == 2
    said = answer.response["toolwire"]["usage"] if stream else answer.headers["toolwire-usage"]
    assert said == "estimated"


def test_what_the_client_sent_comes_back_as_it_sent_it() -> None:
    sent = {
        "tools": [WEATHER, {"type": "web_search"}],
        "tool_choice": {"type": "function", "name": "get_weather"},
        "instructions": "Be brief.",
        "metadata": {"a": "b"},
        "text": {"format": {"type": "text"}, "verbosity": "low"},
        "reasoning": {"effort": "low", "summary": "auto"},
        "prompt_cache_key": "k",
    }
    answer = ask(speaking(*CALL, CALLED), **sent)
    assert {name: answer.response[name] for name in sent} == sent
    assert answer.response["temperature"] is None


@BOTH
def test_a_request_of_several_lines_does_not_break_the_stream(stream: bool) -> None:
    sent = {
        "tools": [WEATHER],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [WEATHER]},
        "instructions": "Be\nbrief.",
        "metadata": {"a": "b\r\n"},
        "text": {"format": {"type": "text"}},
    }
    answer = ask(stream=stream, indent=2, **sent)
    assert {name: answer.response[name] for name in sent} == sent


def test_only_the_first_and_the_last_event_repeat_the_tools() -> None:
    events = ask(stream=True, tools=[WEATHER], instructions="Be brief.").stream
    shown = [bool(e["response"]["tools"]) for e in events if "response" in e]
    assert shown == [True, False, True]


def test_codex_is_spared_what_it_does_not_read() -> None:
    answer = ask(stream=True, tools=[WEATHER], instructions="Be brief.", agent="codex_exec/1")
    assert all(not e["response"]["tools"] for e in answer.stream if "response" in e)
    assert answer.response["instructions"] is None


def quiet_sink(client: Answer) -> ResponseStreamSink:
    """A sink of a turn in which the model has said nothing yet."""
    plan = make_plan(Request("m", (ChatMessage("user", "hi"),), stream=True), repair_history=True)
    echo = b'"model":"m","tool_choice":"auto","parallel_tool_calls":true'
    head = ResponseHead("resp_1", 0, echo, {})
    about = ResponseContext(head, NO_OFFER, (), str, float)
    return ResponseStreamSink(client, RequestContext("req_1"), plan, about)


def test_a_silent_model_is_covered_by_events_which_commit_to_nothing() -> None:
    client = Answer(HttpRequest("POST", b"/v1/responses"))
    sink = quiet_sink(client)
    for _ in range(3):
        sink.keepalive()
    assert client.kinds == ["created", "in_progress", "in_progress", "in_progress"]
    assert not sink.committed


def test_an_error_after_a_keepalive_is_told_in_the_stream() -> None:
    client = Answer(HttpRequest("POST", b"/v1/responses"))
    sink = quiet_sink(client)
    sink.keepalive()
    sink.fail(UpstreamError("It broke."))
    assert client.kinds == [*OPENING, "error", "failed"]
    assert client.ended


def test_a_stream_says_when_to_try_again() -> None:
    client = Answer(HttpRequest("POST", b"/v1/responses"))
    sink = quiet_sink(client)
    sink.keepalive()
    sink.fail(UpstreamUnavailable("Slow down.", retry_after=6.2, rate_limited=True))
    error = client.response["error"]
    assert error["code"] == "rate_limit_exceeded"
    assert error["message"] == "Slow down. Please try again in 7s."


def test_log_probabilities_have_the_form_of_this_api() -> None:
    entry = {"token": "Hi", "logprob": -0.5, "bytes": None, "top_logprobs": []}
    raw = b'{"content":[{"token":"Hi","logprob":-0.5,"bytes":null,"top_logprobs":[]}]}'
    include = ["message.output_text.logprobs"]
    answer = ask(speaking(Fragment(text="Hi", logprobs=raw), END), stream=True, include=include)
    (part,) = answer.output[0]["content"]
    assert part["logprobs"] == [{**entry, "bytes": [72, 105]}]
