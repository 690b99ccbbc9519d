import json

import pytest

from toolwire.errors import RequestError
from toolwire.protocol.nesting import check_nesting, is_deeper


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
