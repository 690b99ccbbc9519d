"""Decodes JSON in a time that does not depend on its numbers.

msgspec decodes numbers near the limits of a float, such as 1e308, exactly, which takes 300 times as
long as for others: a megabyte of them would block the event loop for two seconds. Python's own
`float` takes the same time for all. It is slower for ordinary numbers, so it is used only for text
that has several exponents.
"""

import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

import msgspec

T = TypeVar("T")
SHORT = 64
"""Length of JSON with too few numbers to matter."""
_FEW = 8
_LONG_NUMBER = b"0" * 100
"""msgspec is slow for a fraction with as many digits, too."""
_SHAPES = bytes.maketrans(b"123456789E", b"000000000e")


def shape_of_numbers(json: bytes | str) -> bytes:
    """Return the text with every digit as `0` and every `E` as `e`. To search it for a kind of
    number is faster than a pattern by far."""
    raw = json.encode(errors="replace") if isinstance(json, str) else bytes(json)
    return raw.translate(_SHAPES)


def count_exponents(json: bytes | str) -> int:
    """Return the maximum number of numbers with an exponent. Those in strings count, too."""
    return shape_of_numbers(json).count(b"0e")


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("Number out of range")
    return value


class SteadyDecoder(Generic[T]):
    """Decodes one type, like `msgspec.json.Decoder`."""

    __slots__ = ("_fast", "_steady")

    @overload
    def __init__(self: "SteadyDecoder[Any]") -> None: ...
    @overload
    def __init__(self: "SteadyDecoder[T]", kind: type[T]) -> None: ...
    def __init__(self, kind: Any = Any) -> None:
        self._fast: Callable[[bytes | str], T] = msgspec.json.Decoder(kind).decode
        self._steady: Callable[[bytes | str], T] = msgspec.json.Decoder(
            kind, float_hook=_float
        ).decode

    def decode(self, json: bytes | str) -> T:
        """Decode a JSON value. Raises `MsgspecError`."""
        if len(json) > SHORT:
            shape = shape_of_numbers(json)
            if shape.count(b"0e") > _FEW or shape.find(_LONG_NUMBER) >= 0:
                return self._steady(json)
        return self._fast(json)


decode_any = SteadyDecoder().decode
"""Decodes JSON of any type."""
