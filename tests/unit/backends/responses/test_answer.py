"""Answers of the Responses API, read in any pieces."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwire.backends.responses.answer import ResponsesDecoder
from toolwire.errors import UpstreamError, UpstreamRefused, UpstreamUnavailable
from toolwire.protocol.fragments import ENCRYPTED_REASONING, Fragment
from toolwire.protocol.usage import TokenUsage

Json = dict[str, Any]


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def added(index: int, item: Json) -> bytes:
    return event("response.output_item.added", output_index=index, item=item)


def done(index: int, item: Json) -> bytes:
    return event("response.output_item.done", output_index=index, item=item)


def delta(kind: str, index: int, item_id: str, text: str, **more: Any) -> bytes:
    return event(f"response.{kind}.delta", output_index=index, item_id=item_id, delta=text, **more)


def call(number: int, name: str, arguments: str, **more: Any) -> Json:
    head = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
    return {**head, "name": name, "arguments": arguments, **more}


THOUGHT: Json = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hm."}, {"type": "summary_text", "text": "So."}],
    "encrypted_content": "gAAA",
}
MESSAGE: Json = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Look: ü", "annotations": []}],
}
SEARCH: Json = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
OUTPUT = [THOUGHT, MESSAGE, SEARCH, call(1, "f", '{"a": 1}'), call(2, "g", "{}")]
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 90},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 15},
    "total_tokens": 120,
}
RESPONSE: Json = {"id": "resp_1", "object": "response", "status": "completed", "usage": USAGE}
ARGUMENTS = "function_call_arguments"
SUMMARY = "reasoning_summary_text"
STREAM = b"".join(
    [
        event("response.created", response={"id": "resp_1", "status": "in_progress"}),
        event("response.in_progress", response={"id": "resp_1", "status": "in_progress"}),
        added(0, {"type": "reasoning", "id": "rs_1", "summary": []}),
        event("response.reasoning_summary_part.added", output_index=0, summary_index=0),
        delta(SUMMARY, 0, "rs_1", "H"),
        delta(SUMMARY, 0, "rs_1", "m."),
        event("response.reasoning_summary_part.added", output_index=0, summary_index=1),
        delta(SUMMARY, 0, "rs_1", "So."),
        done(0, THOUGHT),
        added(1, {**MESSAGE, "content": []}),
        event("response.content_part.added", output_index=1, part={"type": "output_text"}),
        delta("output_text", 1, "msg_1", "Look: "),
        delta("output_text", 1, "msg_1", "ü"),
        event("response.output_text.done", output_index=1, text="Look: ü"),
        done(1, MESSAGE),
        added(2, SEARCH),
        event("response.web_search_call.searching", output_index=2, item_id="ws_1"),
        done(2, SEARCH),
        added(3, call(1, "f", "")),
        delta(ARGUMENTS, 3, "fc_1", '{"a"'),
        delta(ARGUMENTS, 3, "fc_1", ": 1}"),
        event(f"response.{ARGUMENTS}.done", output_index=3, arguments='{"a": 1}'),
        done(3, call(1, "f", '{"a": 1}')),
        added(4, call(2, "g", "")),
        done(4, call(2, "g", "{}")),
        event("response.from_the_future", anything=[1, {}]),
        event("response.completed", response={**RESPONSE, "output": OUTPUT}),
    ]
)


def read(*blocks: bytes) -> tuple[list[Fragment], bool]:
    decoder = ResponsesDecoder(max_line=100_000)
    fragments = [fragment for piece in blocks for fragment in decoder.feed(piece)]
    return [*fragments, *decoder.finish()], decoder.done


def said(fragments: list[Fragment]) -> Json:
    calls: dict[int, list[Any]] = {}
    for part in (call for fragment in fragments for call in fragment.calls):
        entry = calls.setdefault(part.index or 0, [part.id, part.name, ""])
        entry[2] += part.arguments or ""
    return {
        "text": "".join(fragment.text for fragment in fragments),
        "reasoning": "".join(fragment.reasoning for fragment in fragments),
        "calls": list(calls.values()),
        "extras": [pair for fragment in fragments for pair in fragment.extras],
        "finish": [fragment.finish for fragment in fragments if fragment.finish],
        "usage": [fragment.usage for fragment in fragments if fragment.usage],
    }


EXPECTED = {
    "text": "Look: ü",
    "reasoning": "Hm.\n\nSo.",
    "calls": [["call_1", "f", '{"a": 1}'], ["call_2", "g", "{}"]],
    "extras": [(ENCRYPTED_REASONING, b'"gAAA"')],
    "finish": ["tool_calls"],
    "usage": [TokenUsage(100, 20, {"cached_tokens": 90}, {"reasoning_tokens": 15})],
}


def whole(**fields: Any) -> bytes:
    return json.dumps({**RESPONSE, **fields}).encode()


def test_a_stream_and_a_whole_answer_say_the_same() -> None:
    for fragments, ended in (read(STREAM), read(whole(output=OUTPUT))):
        assert said(fragments) == EXPECTED
        assert ended


def test_every_single_cut_gives_the_same() -> None:
    for cut in range(0, len(STREAM) + 1, 7):
        assert said(read(STREAM[:cut], STREAM[cut:])[0]) == EXPECTED, cut


def test_a_stream_that_only_ends_its_items_says_the_same() -> None:
    ends = b"".join(done(index, item) for index, item in enumerate(OUTPUT))
    last = event("response.completed", response=RESPONSE)
    assert said(read(ends + last)[0]) == EXPECTED


def test_a_stream_with_nothing_but_its_end_says_the_same() -> None:
    last = event("response.completed", response={**RESPONSE, "output": OUTPUT})
    assert said(read(last)[0]) == EXPECTED


def test_items_that_all_have_the_same_index_are_told_apart_by_their_ids() -> None:
    stream = [
        added(0, {**MESSAGE, "content": []}),
        delta("output_text", 0, "msg_1", "Look: ü"),
        done(0, MESSAGE),
        added(0, call(1, "f", "")),
        delta(ARGUMENTS, 0, "fc_1", '{"a": 1}'),
        done(0, call(1, "f", '{"a": 1}')),
        added(0, call(2, "g", "")),
        delta(ARGUMENTS, 0, "fc_2", "{}"),
        done(0, call(2, "g", "{}")),
        event("response.completed", response={**RESPONSE, "output": OUTPUT}),
    ]
    answer = said(read(*stream)[0])
    assert answer["calls"] == EXPECTED["calls"]
    assert answer["text"] == "Look: ü"


def test_a_call_that_only_the_end_names_is_not_lost() -> None:
    last = event("response.completed", response={**RESPONSE, "output": OUTPUT})
    answer = said(read(delta("output_text", 1, "msg_1", "Look: ü") + last)[0])
    assert (answer["text"], answer["calls"]) == ("Look: ü", EXPECTED["calls"])


def test_reasoning_that_comes_as_text_and_as_summary_is_read_once() -> None:
    stream = delta("reasoning_text", 0, "rs_1", "Raw.") + delta(SUMMARY, 0, "rs_1", "Short.")
    assert said(read(stream)[0])["reasoning"] == "Raw."


def test_what_arrives_is_passed_on_at_once() -> None:
    decoder = ResponsesDecoder(max_line=100_000)
    pieces = [
        delta("output_text", 1, "msg_1", "Look"),
        added(3, call(1, "f", "")),
        delta(ARGUMENTS, 3, "fc_1", '{"a"'),
        delta(SUMMARY, 4, "rs_1", "Hm."),
    ]
    text, start, more, thought = ([f] for piece in pieces for f in decoder.feed(piece))
    assert said(text)["text"] == "Look"
    assert said(start)["calls"] == [["call_1", "f", ""]]
    assert said(more)["calls"] == [[None, None, '{"a"']]
    assert said(thought)["reasoning"] == "Hm."


def test_arguments_that_are_an_object_keep_their_digits() -> None:
    item = b'{"type":"function_call","call_id":"c","name":"f","arguments":{"a":%s}}' % (b"9" * 40)
    fragments, _ = read(b'{"status":"completed","output":[%s]}' % item)
    assert said(fragments)["calls"] == [["c", "f", '{"a":%s}' % ("9" * 40)]]


@given(
    order=st.lists(st.integers(0, 26), max_size=30),
    spoilt=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, 3000),
)
@settings(max_examples=150, deadline=None)
def test_events_in_any_order_and_state_are_read_alike_however_they_are_cut(
    order: list[int], spoilt: list[tuple[int, int]], cut: int
) -> None:
    events = STREAM.split(b"\n\n")[:-1]
    data = bytearray(b"".join(events[at % len(events)] + b"\n\n" for at in order))
    for at, byte in spoilt:
        if data:
            data[at % len(data)] = byte
    results = []
    for blocks in ([bytes(data)], [bytes(data[:cut]), bytes(data[cut:])]):
        try:
            fragments, ended = read(*blocks)
            results.append((said(fragments), ended))
        except UpstreamError as error:
            results.append(({}, bool(error.message)))
    assert results[0] == results[1]


def test_a_custom_call_is_plain_text() -> None:
    item = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "patch"}
    stream = [
        added(0, {**item, "input": ""}),
        delta("custom_tool_call_input", 0, "ctc_1", "*** Begin"),
        done(0, {**item, "input": "*** Begin Patch"}),
    ]
    fragments, _ = read(*stream)
    assert said(fragments)["calls"] == [["call_1", "patch", "*** Begin Patch"]]
    assert all(part.custom for fragment in fragments for part in fragment.calls)


def test_a_refusal_is_told_apart_from_text() -> None:
    part = {"type": "refusal", "refusal": "No."}
    item = {**MESSAGE, "content": [part]}
    streamed = delta("refusal", 0, "msg_1", "No.") + done(0, item)
    for fragments, _ in (read(streamed), read(whole(output=[item]))):
        assert said(fragments)["extras"] == [("refusal", b'"No."')]
        assert said(fragments)["text"] == ""


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("x", "length")],
)
def test_an_incomplete_answer_says_why(reason: str, finish: str) -> None:
    fields = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    stream = event("response.incomplete", response={**RESPONSE, **fields, "output": [MESSAGE]})
    for fragments, ended in (read(stream), read(whole(**fields, output=[MESSAGE]))):
        assert said(fragments)["finish"] == [finish]
        assert ended


def test_a_call_that_was_cut_has_no_arguments_made_up() -> None:
    cut = call(1, "f", "{}", status="incomplete")
    fields = {"status": "incomplete", "output": [cut], "incomplete_details": {"reason": "x"}}
    assert said(read(whole(**fields))[0])["calls"] == [["call_1", "f", ""]]


def test_log_probabilities_have_the_form_of_chat_completions() -> None:
    entry = {"token": "a", "logprob": -0.5, "bytes": [97], "top_logprobs": []}
    fragments, _ = read(delta("output_text", 0, "msg_1", "a", logprobs=[entry]))
    assert json.loads(fragments[0].logprobs) == {"content": [entry]}


def test_a_stream_that_just_ends_is_not_done() -> None:
    assert read(STREAM[: STREAM.rindex(b"event: response.completed")])[1] is False


ERRORS = {
    "server_error": UpstreamError,
    "server_is_overloaded": UpstreamUnavailable,
    "rate_limit_exceeded": UpstreamUnavailable,
    "invalid_prompt": UpstreamRefused,
}


@pytest.mark.parametrize("code", ERRORS)
@pytest.mark.parametrize("form", ["flat", "nested", "failed", "whole"])
def test_an_error_is_raised_in_every_form(code: str, form: str) -> None:
    error = {"code": code, "message": "Sorry."}
    failed = {**RESPONSE, "status": "failed", "error": error, "output": []}
    sent = {
        "flat": event("error", **error, param=None),
        "nested": event("error", error=error),
        "failed": event("response.failed", response=failed),
        "whole": json.dumps(failed).encode(),
    }
    with pytest.raises(ERRORS[code], match="Sorry"):
        read(sent[form])


def test_a_full_context_has_its_code() -> None:
    error = {"code": "context_length_exceeded", "message": "Too long."}
    with pytest.raises(UpstreamRefused) as caught:
        read(event("error", **error))
    assert caught.value.code == "context_length_exceeded"


def test_a_few_broken_events_are_gaps_and_many_are_an_error() -> None:
    assert [fragment.gap for fragment in read(b"data: {oops\n\n" * 3)[0]] == [True] * 3
    with pytest.raises(UpstreamError, match="broken"):
        read(b"data: {oops\n\n" * 17)
