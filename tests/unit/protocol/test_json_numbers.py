"""Numbers that msgspec decodes slowly are decoded as fast as others, to the same value."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.timing import below

from toolwire.protocol.json_numbers import SteadyDecoder, decode_any, shape_of_numbers

SLOW = ["1e308", "1.7976931348623157e308", "8.98846567431158e307", "5e-324", "-2.3e-310"]


@pytest.mark.parametrize("number", SLOW)
@pytest.mark.parametrize("times", [1, 9, 500])
def test_the_value_is_the_same(number: str, times: int) -> None:
    text = "[" + ",".join([number] * times) + "]"
    for json_text in (text, text.encode()):
        assert decode_any(json_text) == json.loads(text)


@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=20))
def test_every_float_is_decoded_exactly(numbers: list[float]) -> None:
    assert decode_any(json.dumps(numbers)) == numbers


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1E400"])
@pytest.mark.parametrize("times", [1, 50])
def test_a_number_that_is_too_large_is_refused(number: str, times: int) -> None:
    with pytest.raises(msgspec.ValidationError, match="out of range"):
        decode_any("[" + ",".join([number] * times) + "]")


@pytest.mark.parametrize("text", ["[NaN]", "[1.]", "[.5]", "[01]", "[1e]"])
def test_what_is_no_number_stays_none(text: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_any(text[:-1] + ",1e1" * 40 + "]")


class Point(msgspec.Struct):
    x: float
    more: Any = None


def test_types_are_checked_either_way() -> None:
    decode = SteadyDecoder(Point).decode
    many = ",".join(["1e308"] * 50)
    assert decode('{"x": 1e308}') == Point(1e308)
    assert decode(f'{{"x": 2.5, "more": [{many}]}}') == Point(2.5, [1e308] * 50)
    with pytest.raises(msgspec.ValidationError, match="Expected `float`"):
        decode(f'{{"x": "a", "more": [{many}]}}')


def test_the_shape_has_no_digits_but_zero() -> None:
    assert shape_of_numbers("1.9E+23 abc \ud800") == b"0.0e+00 abc ?"


@pytest.mark.timed
@pytest.mark.parametrize("number", SLOW)
def test_they_take_no_longer_than_a_microsecond_or_two(number: str) -> None:
    text = "[" + ",".join([number] * 20_000) + "]"
    assert below(0.06, lambda: decode_any(text)) < 0.06  # msgspec alone: 0.2
