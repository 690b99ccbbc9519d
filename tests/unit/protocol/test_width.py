"""JSON with too many values is refused before it is decoded, and text is never counted."""

import json
from typing import Any

import pytest
from tests.contract.wire import body, call, read, refusal, result

from toolwire.errors import RequestError
from toolwire.protocol.width import MOST_VALUES, check_width


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
