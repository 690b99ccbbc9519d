"""Every kind of message that msgspec has, in OpenAI's words."""

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from toolwire.errors import RequestError
from toolwire.surfaces.explain import bad_value, decode, json_kind, missing, wrong_type


class Inner(msgspec.Struct):
    name: str
    size: Annotated[int, Meta(ge=1, le=9)] = 1


class Outer(msgspec.Struct):
    inner: Inner | None = None
    many: list[Inner] = []
    word: Literal["a", "b"] = "a"
    text: Annotated[str, Meta(min_length=2, max_length=3)] = "ab"
    tags: Annotated[dict[str, str], Meta(max_length=1)] = {}
    either: str | list[str] | None = None
    ratio: Annotated[float, Meta(gt=0, lt=1)] = 0.5
    few: Annotated[list[int], Meta(min_length=1, max_length=2)] = []
    anything: Any = None


DECODER = msgspec.json.Decoder(Outer)

CASES: dict[str, tuple[bytes, str, str, str | None]] = {
    "missing": (
        b'{"inner":{}}', "Missing required parameter: 'p.inner.name'.",
        "missing_required_parameter", "p.inner.name",
    ),
    "missing in a list": (
        b'{"many":[{"name":"x"},{}]}', "Missing required parameter: 'p.many[1].name'.",
        "missing_required_parameter", "p.many[1].name",
    ),
    "wrong type": (
        b'{"inner":{"name":1}}',
        "Invalid type for 'p.inner.name': expected a string, but got an integer instead.",
        "invalid_type", "p.inner.name",
    ),
    "wrong type at the root": (
        b"[]", "Invalid type for 'p': expected an object, but got an array instead.",
        "invalid_type", "p",
    ),
    "wrong type, null": (
        b'{"many":null}', "Invalid type for 'p.many': expected an array, but got null instead.",
        "invalid_type", "p.many",
    ),
    "wrong type, boolean": (
        b'{"word":true}',
        "Invalid type for 'p.word': expected a string, but got a boolean instead.",
        "invalid_type", "p.word",
    ),
    "wrong type of several": (
        b'{"either":1.5}',
        "Invalid type for 'p.either': expected one of a string or an array, "
        "but got a decimal instead.",
        "invalid_type", "p.either",
    ),
    "wrong type in an object": (
        b'{"tags":{"a":1}}',
        "Invalid type for 'p.tags[...]': expected a string, but got an integer instead.",
        "invalid_type", "p.tags[...]",
    ),
    "word outside the list": (b'{"word":"c"}', "Invalid value: 'c'.", "invalid_value", "p.word"),
    "below": (
        b'{"inner":{"name":"x","size":0}}',
        "Invalid 'p.inner.size': integer below minimum value. Expected a value >= 1, "
        "but got 0 instead.",
        "integer_below_min_value", "p.inner.size",
    ),
    "above": (
        b'{"inner":{"name":"x","size":10}}',
        "Invalid 'p.inner.size': integer above maximum value. Expected a value <= 9, "
        "but got 10 instead.",
        "integer_above_max_value", "p.inner.size",
    ),
    "far above": (
        b'{"inner":{"name":"x","size":' + b"1" * 3000 + b"}}",
        "Invalid 'p.inner.size': integer above maximum value. Expected a value <= 9, "
        f"but got {'1' * 40}... instead.",
        "integer_above_max_value", "p.inner.size",
    ),
    "not above": (
        b'{"ratio":0}',
        "Invalid 'p.ratio': decimal below minimum value. Expected a value > 0, but got 0 instead.",
        "decimal_below_min_value", "p.ratio",
    ),
    "not below": (
        b'{"ratio":1.0}',
        "Invalid 'p.ratio': decimal above maximum value. Expected a value < 1, "
        "but got 1.0 instead.",
        "decimal_above_max_value", "p.ratio",
    ),
    "text too short": (
        b'{"text":"a"}',
        "Invalid 'p.text': string too short. Expected a string with minimum length 2, "
        "but got a string with length 1 instead.",
        "string_below_min_length", "p.text",
    ),
    "text too long": (
        b'{"text":"abcd"}',
        "Invalid 'p.text': string too long. Expected a string with maximum length 3, "
        "but got a string with length 4 instead.",
        "string_above_max_length", "p.text",
    ),
    "text empty": (
        b'{"text":""}',
        "Invalid 'p.text': empty string. Expected a string with minimum length 2, "
        "but got an empty string instead.",
        "empty_string", "p.text",
    ),
    "list empty": (
        b'{"few":[]}',
        "Invalid 'p.few': empty array. Expected an array with minimum length 1, "
        "but got an empty array instead.",
        "empty_array", "p.few",
    ),
    "list too long": (
        b'{"few":[1,2,3]}',
        "Invalid 'p.few': array too long. Expected an array with maximum length 2, "
        "but got an array with length 3 instead.",
        "array_above_max_length", "p.few",
    ),
    "object too large": (
        b'{"tags":{"a":"","b":""}}',
        "Invalid 'p.tags': object too long. Expected an object with maximum length 1, "
        "but got an object with length 2 instead.",
        "object_above_max_length", "p.tags",
    ),
    "number out of range": (
        b'{"anything":1e999}', "Invalid value for 'p.anything': Number out of range.",
        "invalid_value", "p.anything",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "message", "code", "param"), CASES.values(), ids=CASES)
def test_the_client_reads_openais_words(
    raw: bytes, message: str, code: str, param: str | None
) -> None:
    with pytest.raises(RequestError) as caught:
        decode(DECODER, raw, "p")
    error = caught.value
    assert (error.message, error.code, error.param) == (message, code, param)


@pytest.mark.parametrize(
    "value",
    [
        "x - at `$.inner`",
        " - at `$[0]",
        "x' - at `$.inner.name`",
        "`",
        " - at `$",
        " - at `$.a` - at `$.b`",
        " - at `key` in `$.inner`",
    ],
)
def test_what_a_client_wrote_is_never_read_as_a_place(value: str) -> None:
    root = msgspec.json.Decoder(Literal["a", "b"])
    for decoder, sent, param in ((root, value, "p"), (DECODER, {"word": value}, "p.word")):
        with pytest.raises(RequestError) as caught:
            decode(decoder, json.dumps(sent).encode(), "p")
        assert caught.value.param == param
        assert caught.value.code == "invalid_value"
        assert value.strip() in caught.value.message


@pytest.mark.parametrize("raw", [b"", b"{", b'{"text":"\xff"}', b'{"anything":' + b"[" * 9_999])
def test_what_cannot_be_read_is_not_json(raw: bytes) -> None:
    with pytest.raises(RequestError, match="We could not parse the JSON body") as caught:
        decode(DECODER, raw, "p")
    assert (caught.value.param, caught.value.code) == (None, None)


def test_the_first_error_is_explained_whatever_else_is_wrong() -> None:
    raw = b'{"inner":{"name":"x","size":0},"anything":1e999}'
    with pytest.raises(RequestError, match="but got 0 instead"):
        decode(DECODER, raw, "p")


def test_a_long_value_is_cut() -> None:
    assert bad_value("x" * 500, "p").message == f"Invalid value: '{'x' * 100}...'."


def test_what_is_supported_is_said_where_it_is_known() -> None:
    assert "'developer'" in bad_value("robot", "messages[12].role").message
    assert "Supported" not in bad_value("robot", "messages[12].name").message


def test_content_is_described_as_openai_does() -> None:
    said = wrong_type("messages[0].content", "str | array | null", "bool").message
    assert "expected one of a string or array of objects, but got a boolean" in said


def test_a_missing_parameter_is_named() -> None:
    assert missing("a.b").message == "Missing required parameter: 'a.b'."


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "null"), (True, "bool"), (1, "int"), (1.5, "float"), ("", "str"), ([], "array"),
        ({}, "object"),
    ],
)  # fmt: skip
def test_every_json_value_has_a_kind(value: Any, kind: str) -> None:
    assert json_kind(value) == kind
