"""Each failing variant fails with the stated reply, as often as stated."""

import json

import pytest
from tests.scripted.play import KEY, names_in, play
from tests.scripted.reply import Reply
from tests.scripted.stage import Stage
from tests.scripted.variants import failures

LASTING = {
    "err401": (401, b'"code": "invalid_api_key"'),
    "err400": (400, b'"param": "messages[0].role"'),
    "err404": (404, b'"code": "model_not_found"'),
    "err_plain": (400, b"scripted plain failure"),
    "err_string": (400, b'{"error": "scripted string failure"}'),
    "err_detail": (422, b'{"detail": [{'),
    "err_empty": (500, b""),
    "ctxlen": (400, b'"code": "context_length_exceeded"'),
    "err429_always": (429, b'"code": "rate_limit_exceeded"'),
    "err429_retry7": (429, b'"code": "rate_limit_exceeded"'),
    "err500_always": (500, b'"type": "server_error"'),
    "html200": (200, b"<html>"),
    "garbage_json": (200, b'"choices": [{"mess'),
    "err200": (200, b'{"error": {'),
    "err_key": (401, f"provided: {KEY}.".encode()),
    "redirect": (302, b""),
}

ONCE = {
    "err429": (429, b'"code": "rate_limit_exceeded"'),
    "err500": (500, b'"type": "server_error"'),
    "err503": (503, b'"type": "server_error"'),
    "html502": (502, b"<html>"),
    "html503": (503, b"<html>"),
    "empty200": (200, b""),
}


def replies(variant: str, count: int, *, stream: bool = True) -> list[Reply]:
    stage = Stage(variant, ["Hello"])
    return [play(stage, messages=[], stream=stream) for _ in range(count)]


def shown(reply: Reply, fragment: bytes) -> tuple[int, bytes]:
    """The status, and the fragment if the body holds it (or is as empty as it is)."""
    found = fragment in reply.body if fragment else not reply.body
    return reply.status, fragment if found else reply.body


def is_answer(reply: Reply) -> bool:
    return reply.status == 200 and b"Hello" in reply.body


def test_every_failing_variant_is_described_here() -> None:
    assert LASTING.keys() | ONCE.keys() == names_in(failures)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("name", "expected"), LASTING.items())
def test_a_lasting_failure_meets_every_request(
    name: str, expected: tuple[int, bytes], stream: bool
) -> None:
    for reply in replies(name, 3, stream=stream):
        assert shown(reply, expected[1]) == expected


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(("name", "expected"), ONCE.items())
def test_a_passing_failure_meets_the_first_request_only(
    name: str, expected: tuple[int, bytes], stream: bool
) -> None:
    first, second = replies(name, 2, stream=stream)
    assert shown(first, expected[1]) == expected
    assert is_answer(second)


def test_the_number_of_failures_can_be_chosen() -> None:
    assert [reply.status for reply in replies("err500:2", 3)] == [500, 500, 200]
    assert [reply.status for reply in replies("err500:always", 3)] == [500, 500, 500]


@pytest.mark.parametrize(
    ("name", "seconds"), [("err429", "1"), ("err429_always", "1"), ("err429_retry7", "7")]
)
def test_a_rate_limit_says_when_to_come_again(name: str, seconds: str) -> None:
    assert dict(replies(name, 1)[0].headers)["retry-after"] == seconds


def test_errors_in_openais_form_have_all_four_keys() -> None:
    for name in ("err401", "err400", "ctxlen", "err429", "err500"):
        body = json.loads(replies(name, 1)[0].body)
        assert set(body["error"]) == {"message", "type", "param", "code"}


def test_a_redirect_goes_where_it_is_told_to() -> None:
    reply = replies("redirect:http://elsewhere:8080/v1", 1)[0]
    assert dict(reply.headers)["location"] == "http://elsewhere:8080/v1"


def test_an_empty_reply_has_the_type_of_the_answer_it_replaces() -> None:
    streamed, whole = (replies("empty200", 1, stream=stream)[0] for stream in (True, False))
    assert dict(streamed.headers)["content-type"].startswith("text/event-stream")
    assert dict(whole.headers)["content-type"] == "application/json"
