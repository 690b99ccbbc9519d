"""The fields of a request besides its messages and tools."""

import json
from typing import Any

import pytest
from tests.contract.messaging import READER, asked, ignored

from toolwire.errors import RequestError
from toolwire.surfaces.messages.reader import FIELDS, ThreadUnsupported

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}


def test_sampling_is_forwarded() -> None:
    request = asked(max_tokens=5, temperature=0.5, top_p=0.9, top_k=7, stop_sequences=["#"]).request
    sampling = request.sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.top_p) == (5, 0.5, 0.9)
    assert sampling.stop == ("#",)
    assert request.extras["top_k"] == b"7"


def test_every_stop_sequence_counts() -> None:
    request = asked(stop_sequences=list("abcdef")).request
    assert request.sampling.stop == ("a", "b", "c", "d", "e", "f")
    assert request.adjusted == ()


@pytest.mark.parametrize("stops", [["a" * 257], [""], [str(number) for number in range(65)]])
def test_stop_sequences_that_are_too_long_or_too_many_are_reported(stops: list[str]) -> None:
    request = asked(stop_sequences=stops).request
    assert len(request.sampling.stop) == len(stops) - 1
    assert request.adjusted == ("stop_sequences",)


@pytest.mark.parametrize(
    ("thinking", "effort", "on", "shown"),
    [
        ({"type": "adaptive"}, None, True, True),
        ({"type": "between_tools"}, None, True, True),
        ({"type": "enabled", "budget_tokens": 1024}, "low", True, True),
        ({"type": "enabled", "budget_tokens": 8000}, "medium", True, True),
        ({"type": "enabled", "budget_tokens": 31999}, "high", True, True),
        ({"type": "disabled"}, None, False, False),
    ],
)
def test_thinking_is_switched_as_backends_take_it(
    thinking: dict[str, Any], effort: str | None, on: bool, shown: bool
) -> None:
    made = asked(thinking=thinking)
    assert made.request.sampling.thinking is on
    assert made.request.sampling.reasoning_effort == effort
    assert made.shows_thinking is shown


def test_without_a_word_about_thinking_the_backend_decides_and_nothing_is_shown() -> None:
    made = asked()
    assert made.request.sampling.thinking is None
    assert not made.shows_thinking


@pytest.mark.parametrize("effort", ["low", "high", "xhigh", "max"])
def test_effort_is_left_to_the_backend(effort: str) -> None:
    assert asked(output_config={"effort": effort}).request.sampling.reasoning_effort == effort


def test_an_unknown_effort_is_reported_and_never_refused() -> None:
    made = asked(output_config={"effort": "ultra"})
    assert made.request.sampling.reasoning_effort is None
    assert ignored(made) == ("output_config.effort",)


FORM = {"type": "json_schema", "schema": SCHEMA}


@pytest.mark.parametrize("fields", [{"output_config": {"format": FORM}}, {"output_format": FORM}])
def test_a_wanted_form_is_a_json_schema(fields: dict[str, Any]) -> None:
    read = asked(**fields)
    wanted = read.request.response_format
    assert wanted is not None
    assert json.loads(wanted.schema) == SCHEMA
    assert ignored(read) == ()


def test_a_long_user_id_is_hashed() -> None:
    assert asked(metadata={"user_id": "u"}).request.extras["user"] == b'"u"'
    long = asked(metadata={"user_id": json.dumps({"device": "x" * 99})}).request.extras["user"]
    assert len(json.loads(long)) == 64


@pytest.mark.parametrize(
    "name",
    [name for name, rule in FIELDS.items() if rule.treatment == "ignored" and " " not in name],
)
def test_what_has_no_effect_is_reported(name: str) -> None:
    assert ignored(asked(**{name: {"any": "thing"}})) == (name,)


def test_unknown_fields_are_reported() -> None:
    assert ignored(asked(next_month="x")) == ("next_month",)


def test_null_is_not_given() -> None:
    request = asked(system=None, tools=None, thinking=None, metadata=None, thread=None).request
    assert request.ignored == ()


@pytest.mark.parametrize("kind", ["create", "continue"])
def test_threads_are_refused_with_the_code_that_sdks_know(kind: str) -> None:
    with pytest.raises(ThreadUnsupported) as refused:
        asked(thread={"type": kind})
    assert refused.value.code == "thread_unsupported_request"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_tokens": ...}, "max_tokens: Field required"),
        ({"model": ...}, "model: Field required"),
        ({"messages": ...}, "messages: Field required"),
        ({"max_tokens": "9"}, "max_tokens: Expected 'int', got 'str'"),
        ({"max_tokens": -1}, "max_tokens: "),
        ({"temperature": 9}, "temperature: "),
        ({"stream": "yes"}, "stream: "),
        ({"output_config": {"effort": 5}}, "output_config.effort: "),
        ({"output_config": {"format": {"type": "xml"}}}, "output_config.format: "),
        ({"output_format": {"type": "xml"}}, "output_format: "),
        ({"output_format": {"type": "json_schema", "schema": {"type": 5}}}, "output_format.schema"),
        ({"compaction": {"type": "summarize"}}, "compaction: "),
    ],
)
def test_what_is_wrong_is_said_with_its_place(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError) as refused:
        asked(**fields)
    assert refused.value.message.startswith(message)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"a": "\xff"}', b"\x1f\x8b"])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError):
        READER.read(body)


def test_a_prompt_that_is_only_counted_needs_no_limit_and_may_end_with_an_answer() -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    assert len(READER.read(body, counting=True).request.messages) == 2


def test_what_a_client_wrote_does_not_make_an_error_long() -> None:
    with pytest.raises(RequestError) as refused:
        asked(messages=[{"role": "x" * 5000, "content": "a"}])
    assert len(refused.value.message) < 700


def test_half_of_a_surrogate_pair_is_explained() -> None:
    body = json.dumps({"model": "m", "max_tokens": 5, "messages": "\ud83d"}).encode()
    with pytest.raises(RequestError, match=r"half of a surrogate pair, \\ud83d, at character"):
        READER.read(body)
