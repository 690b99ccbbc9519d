"""Answers of the Messages API, read in any pieces."""

import json
from typing import Any

import pytest

from toolwire.backends.anthropic.answer import MessagesDecoder
from toolwire.errors import UpstreamError, UpstreamUnavailable
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.usage import TokenUsage


def event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    return b"".join(
        [
            event("content_block_start", index=index, content_block=start),
            *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
            event("content_block_stop", index=index),
        ]
    )


def use(name: str, call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def json_delta(text: str) -> dict[str, str]:
    return {"type": "input_json_delta", "partial_json": text}


START = event(
    "message_start",
    message={"content": [], "usage": {"input_tokens": 5, "cache_read_input_tokens": 90,
                                      "cache_creation_input_tokens": 5, "output_tokens": 1}},
)  # fmt: skip
END = event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 20})
STREAM = b"".join(
    [
        START,
        event("ping"),
        block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Hm."},
            {"type": "signature_delta", "signature": "xyz"},
        ),
        block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Look: ü"}),
        block(2, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
              json_delta('{"query": "x"}')),
        block(3, use("f", "toolu_1"), json_delta(""), json_delta('{"a"'), json_delta(": 1}")),
        block(4, use("g", "toolu_2")),
        END,
        event("message_stop"),
    ]
)  # fmt: skip
WHOLE = {
    "type": "message",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "xyz"},
        {"type": "text", "text": "Look: ü"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5,
              "output_tokens": 20},
}  # fmt: skip


def read(*blocks: bytes) -> tuple[list[Fragment], bool]:
    decoder = MessagesDecoder(max_line=100_000)
    fragments = [fragment for piece in blocks for fragment in decoder.feed(piece)]
    return [*fragments, *decoder.finish()], decoder.done


def said(fragments: list[Fragment]) -> dict[str, Any]:
    calls: dict[int, list[Any]] = {}
    for part in (call for fragment in fragments for call in fragment.calls):
        entry = calls.setdefault(part.index or 0, [part.id, part.name, ""])
        arguments = part.arguments
        entry[2] += arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return {
        "text": "".join(fragment.text for fragment in fragments),
        "reasoning": "".join(fragment.reasoning for fragment in fragments),
        "calls": [
            [i, name, json.loads(a.removeprefix("{}") or "{}")] for i, name, a in calls.values()
        ],
        "finish": [fragment.finish for fragment in fragments if fragment.finish],
        "usage": [fragment.usage for fragment in fragments if fragment.usage],
    }


EXPECTED = {
    "text": "Look: ü",
    "reasoning": "Hm.",
    "calls": [["toolu_1", "f", {"a": 1}], ["toolu_2", "g", {}]],
    "finish": ["tool_calls"],
    "usage": [TokenUsage(100, 20, {"cached_tokens": 90, "cache_creation_tokens": 5})],
}


def test_a_stream_and_a_whole_answer_say_the_same() -> None:
    for fragments, done in (read(STREAM), read(json.dumps(WHOLE).encode())):
        assert said(fragments) == EXPECTED
        assert done


def test_every_single_cut_gives_the_same() -> None:
    for cut in range(len(STREAM) + 1):
        assert said(read(STREAM[:cut], STREAM[cut:])[0]) == EXPECTED, cut


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
        ("x", "stop"),
    ],
)
def test_a_stop_reason_is_translated(reason: str, finish: str) -> None:
    fragments, _ = read(event("message_delta", delta={"stop_reason": reason}))
    assert [fragment.finish for fragment in fragments] == [finish]


def test_a_stream_that_just_ends_is_not_done() -> None:
    assert read(START + block(0, {"type": "text", "text": "x"}))[1] is False


ERRORS = {
    "overloaded_error": UpstreamUnavailable,
    "rate_limit_error": UpstreamUnavailable,
    "api_error": UpstreamError,
}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_in_a_stream_is_raised(kind: str) -> None:
    with pytest.raises(ERRORS[kind], match="Sorry"):
        read(START, event("error", error={"type": kind, "message": "Sorry"}))


def test_a_full_context_has_its_code() -> None:
    message = "prompt is too long: 9 tokens > 8 maximum"
    error = {"type": "invalid_request_error", "message": message}
    with pytest.raises(UpstreamError) as caught:
        read(json.dumps({"type": "error", "error": error}).encode())
    assert caught.value.code == "context_length_exceeded"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"content": 1}'])
def test_what_is_no_answer_is_an_error(body: bytes) -> None:
    with pytest.raises(UpstreamError):
        read(body, b"") if body != b"[]" else read(b"data: [\n\n" * 20)


def test_a_call_in_pieces_that_never_began_is_left_out() -> None:
    stray = event("content_block_delta", index=9, delta=json_delta("{}"))
    assert read(stray)[0] == []


def test_a_body_may_begin_with_white_space() -> None:
    decoder = MessagesDecoder(max_line=100_000, streamed=False)
    decoder.feed(b"\n " + json.dumps(WHOLE).encode())
    assert said(decoder.finish()) == EXPECTED
