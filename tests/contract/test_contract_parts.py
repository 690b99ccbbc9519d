"""Content that OpenAI refuses is refused, with its place: parts, empty lists, half characters."""

from typing import Any

import pytest
from tests.contract.wire import asked, body, call, history, read, refusal, result

BAD_PARTS: list[tuple[Any, str, str]] = [
    ({"type": "smell", "smell": "x"}, ".type", "invalid_value"),
    ({"type": "input_text", "text": "x"}, ".type", "invalid_value"),
    ({"type": ""}, ".type", "invalid_value"),
    ({"type": "text"}, ".text", "missing_required_parameter"),
    ({"type": "text", "text": 5}, ".text", "invalid_type"),
    ({"type": "text", "image_url": {"url": "x"}}, ".text", "missing_required_parameter"),
    ({"type": "image_url"}, ".image_url", "missing_required_parameter"),
    ({"type": "image_url", "image_url": {}}, ".image_url.url", "missing_required_parameter"),
    ({"type": "image_url", "image_url": 5}, ".image_url", "invalid_type"),
    ({"type": "input_audio"}, ".input_audio", "missing_required_parameter"),
    ({"type": "input_audio", "input_audio": {}}, ".input_audio.data", "missing_required_parameter"),
    (
        {"type": "input_audio", "input_audio": {"data": ""}},
        ".input_audio.format",
        "missing_required_parameter",
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "", "format": "smell"}},
        ".input_audio.format",
        "invalid_value",
    ),
    ({"type": "image_url", "image_url": {"url": 5}}, ".image_url.url", "invalid_type"),
    (
        {"type": "image_url", "image_url": {"url": "data:,", "detail": "huge"}},
        ".image_url.detail",
        "invalid_value",
    ),
    ({"type": "file"}, ".file", "missing_required_parameter"),
    ({"type": "file", "file": {}}, ".file.file_id", "missing_required_parameter"),
    ({"type": "refusal"}, ".refusal", "missing_required_parameter"),
]
GOOD_PARTS: list[Any] = [
    {"type": "text", "text": ""},
    {"type": "image_url", "image_url": {"url": "data:,"}},
    {"type": "image_url", "image_url": "https://example.com/x.png"},
    {"type": "image_url", "image_url": {"url": "data:,", "detail": None}},
    *(
        {"type": "image_url", "image_url": {"url": "data:,", "detail": detail}}
        for detail in ("auto", "low", "high", "original")
    ),
    {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
    {"type": "input_audio", "input_audio": {"data": "", "format": "flac"}},
    {"type": "file", "file": {"file_id": "f"}},
    {"type": "video_url", "video_url": {"url": "x"}},
    {"type": "thinking", "thinking": []},
]


def said(content: Any, role: str = "user") -> bytes:
    return body(messages=[{"role": role, "content": content}])


@pytest.mark.parametrize(("part", "where", "code"), BAD_PARTS)
def test_a_part_without_what_it_needs_is_refused(part: Any, where: str, code: str) -> None:
    error = refusal(said([{"type": "text", "text": "x"}, part]))
    assert (error.param, error.code) == (f"messages[0].content[1]{where}", code)


@pytest.mark.parametrize("part", GOOD_PARTS)
def test_a_part_that_a_server_knows_is_kept(part: Any) -> None:
    assert read(said([part])).request.messages[0].content


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_an_empty_list_of_parts_is_refused(role: str) -> None:
    error = refusal(said([], role))
    assert (error.param, error.code) == ("messages[0].content", "empty_array")


@pytest.mark.parametrize("role", ["system", "developer", "user"])
def test_only_the_assistant_calls(role: str) -> None:
    message = {"role": role, "content": "x", "tool_calls": [call()]}
    assert refusal(history(message)).param == "messages[0].tool_calls"
    assert read(history({**message, "tool_calls": []}))
    assert read(history({**message, "tool_calls": None}))


def test_a_result_does_not_call() -> None:
    wrong = {**result(), "tool_calls": [call("b")]}
    assert refusal(history(asked(call()), wrong)).param == "messages[1].tool_calls"


HALVES = [rb"a\ud800b", rb"\udc00", rb"\ud800", rb"\ud83d\u0041", b"\xed\xa0\x80"]


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("where", [b"content", b"user"])
def test_half_a_surrogate_pair_is_explained(half: bytes, where: bytes) -> None:
    raw = body(messages=[{"role": "user", "content": "@content"}], user="@user")
    message = refusal(raw.replace(b"@" + where, half)).message
    assert "half of a surrogate pair" in message


def test_a_whole_pair_is_a_character() -> None:
    raw = body(messages=[{"role": "user", "content": "@"}]).replace(b"@", rb"\ud83d\ude00")
    assert read(raw).request.messages[0].content == "\U0001f600"
