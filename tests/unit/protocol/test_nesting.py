import json

import pytest

from toolwire.errors import RequestError
from toolwire.protocol.nesting import MAX_DEPTH, is_deep_text, is_deeper
from toolwire.surfaces.explain import check_nesting


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
