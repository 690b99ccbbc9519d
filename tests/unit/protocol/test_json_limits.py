"""JSON that is too deep or has too many values is refused, and text is never counted."""

import json
from typing import Any

import pytest
from tests.contract.wire import body, call, read, refusal, result

from toolwire.errors import RequestError
from toolwire.protocol.json_limits import (
    MAX_DEPTH,
    MOST_VALUES,
    check_width,
    is_deep_text,
    is_deeper,
    is_wide,
)
from toolwire.surfaces.explain import check_nesting


def is_refused(value: Any, most: int) -> bool:
    """Whether it is too much, however it is written."""
    tight = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    (refused,) = {_refuses(text, most) for text in (json.dumps(value), tight, tight.encode())}
    return refused


def _refuses(text: str | bytes, most: int) -> bool:
    try:
        check_width(text, "p", most)
    except RequestError:
        return True
    return False


@pytest.mark.parametrize(
    ("value", "values"),
    [
        (["x"], 1),
        (["x", 1, 2], 3),
        ({"a": "x", "b": 2}, 2),
        ({"a": ["x", [[1]]], "b": {"c": {}}}, 8),
        (["x", ',"[{}]\\', "\\", '\\"', ",,,"], 5),
        (["[{,\\" * 50_000, {'"': '"'}], 3),
        (['\\"' * 40_000, '"' * 100_000, 1], 3),
        (["é,ü" * 50_000, "ü,"], 2),
    ],
)
def test_members_and_elements_are_counted_and_what_is_in_strings_is_not(
    value: Any, values: int
) -> None:
    assert not is_refused(value, values)
    assert is_refused(value, values - 1)


SLOW = [1e308, 8.98846567431158e307, 5e-324]


@pytest.mark.parametrize("number", SLOW)
def test_a_number_that_is_slow_to_decode_counts_as_ten(number: float) -> None:
    assert not is_refused({"text": "1e308," * 500, "a": [number] * 100}, 1_003)
    assert is_refused({"text": "1e308," * 500, "a": [number] * 100}, 1_001)


@pytest.mark.parametrize("item", [b"1", b"[]", b"{}", b'""'])
def test_the_values_of_an_answer_are_counted_roughly(item: bytes) -> None:
    assert is_wide(b"[" + b",".join([item] * 1_000) + b"]", 999)
    assert not is_wide(b"[" + b",".join([item] * 1_000) + b"]", 2_001)
    assert not is_wide(b"[" + b"x" * 5_000 + b"]", 1_000)


@pytest.mark.parametrize("number", SLOW)
def test_numbers_with_exponents_weigh_more_in_an_answer(number: float) -> None:
    text = json.dumps([number] * 300).encode()
    assert is_wide(text, 1_200)
    assert not is_wide(text, 1_600)


def test_half_of_a_surrogate_pair_is_no_matter() -> None:
    check_width('["\ud800,"]', "p", 1)


@pytest.mark.parametrize(
    "text", ['"""', '["' + "\\" * 9001, '["\\"', '["' + "x" * 99, '["a\\", 1, 2']
)
def test_what_is_no_json_is_no_matter(text: str) -> None:
    check_width(text.encode(), "p", 1)


def test_the_limit_is_for_the_whole_body() -> None:
    wide = dict.fromkeys(map(str, range(MOST_VALUES // 2)), 0)
    error = refusal(body(first=wide, second=wide))
    assert (error.status, error.code, error.param) == (400, "too_many_values", None)
    assert f"at most {MOST_VALUES}" in error.message


def test_the_arguments_of_a_call_have_the_same_limit() -> None:
    arguments = json.dumps({"a": [0] * MOST_VALUES})
    asked = {"role": "assistant", "tool_calls": [call(arguments=arguments)]}
    error = refusal(body(messages=[{"role": "user", "content": "x"}, asked, result()]))
    assert error.code == "too_many_values"
    assert error.param == "messages[1].tool_calls[0].function.arguments"


def test_the_input_of_a_custom_call_is_text() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "f", "input": "," * MOST_VALUES * 2}}
    asked = {"role": "assistant", "tool_calls": [custom]}
    assert read(body(messages=[{"role": "user", "content": "x"}, asked, result("c")]))


@pytest.mark.parametrize("depth", [1, 2, 50])
def test_a_value_is_as_deep_as_it_is(depth: int) -> None:
    value: object = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    assert not is_deeper(value, depth + 1)
    assert is_deeper(value, depth)


def test_brackets_in_text_are_not_depth() -> None:
    check_nesting(json.dumps({"a": "[" * 500}).encode(), "x", 128)


def test_width_is_not_depth() -> None:
    check_nesting(json.dumps([[1]] * 500).encode(), "x", 128)


def test_depth_is_refused_by_name() -> None:
    with pytest.raises(RequestError, match="nested more than 128 levels") as caught:
        check_nesting(b"[" * 200 + b"]" * 200, "response_format", 128)
    assert caught.value.param == "response_format"


def test_a_number_out_of_range_beside_many_brackets_is_refused_too() -> None:
    with pytest.raises(RequestError):
        check_nesting(b'["' + b"[" * 200 + b'", 1e999]', "x", 128)


@pytest.mark.parametrize("innermost", ["1", '"[{"', "1e999", '"\\ud83d\\ude00"'])
def test_arguments_are_too_deep_from_the_same_depth_on_in_every_python(innermost: str) -> None:
    def nested(depth: int) -> str:
        return '{"a":' + "[" * (depth - 1) + innermost + "]" * (depth - 1) + "}"

    assert not is_deep_text(nested(MAX_DEPTH))
    for depth in (MAX_DEPTH + 1, 5_000, 50_000):
        assert is_deep_text(nested(depth))


def test_arguments_with_many_brackets_side_by_side_or_in_text_are_not_deep() -> None:
    assert not is_deep_text(json.dumps({"code": "[{" * 5_000, "rows": [[1]] * 5_000}))
