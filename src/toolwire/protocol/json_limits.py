"""Limits JSON in depth and in number of values.

Depth: backends crash on nesting that Python can still decode. Values: a decoder holds the GIL
until it is done, and one value costs as much as many characters of text, so a limit in bytes is
not enough. Values are counted before decoding; numbers that are slow to decode count as several.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from toolwire.errors import RequestError
from toolwire.protocol.json_numbers import count_exponents, shape_of_numbers

MAX_DEPTH = 200
"""Maximum nesting of a call's arguments. Python's own limit differs between versions."""
TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"
MOST_VALUES = 150_000
"""Maximum number of object members and array elements in a body. This is more than any client
sends, and takes about a tenth of a second to decode."""

_loose = json.JSONDecoder(parse_int=str, parse_float=str).decode
_BEFORE = (b",", b"[", b"{")
"""Every member and element follows one of these."""
_SLOW_NUMBER = re.compile(rb"[0-9][eE][-+]?[0-9]{3}")
"""Numbers near the limits of a float, such as 1e308, are decoded exactly: 300 times as slowly."""
_SHORTEST_SLOW = 5
_SLOW_WEIGHT = 10
"""As many other values take as long to decode."""
_MANY_STRINGS = 50_000
_EXPONENT_WEIGHT = 4
"""The same for `json_numbers`."""
_DIGITS = b"0" * 1000
_DIGITS_WEIGHT = 250
"""The same for each thousand digits of a whole number."""
_STRING = re.compile(rb'(?:[^"\\]*+\\.){0,4096}+[^"\\]*+', re.DOTALL)
"""The next piece of a string. Bounded, because a match holds the GIL too."""


def is_deeper(value: Any, most: int) -> bool:
    """Whether a decoded value is nested more than `most` levels deep. Does not recurse."""
    level = [value]
    for _ in range(most):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        if not below:
            return False
        level = below
    return True


def is_deep_text(text: str) -> bool:
    """Whether `text`, which must be JSON, is nested too deep for a call's arguments."""
    if len(text) <= 2 * MAX_DEPTH or text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    try:
        return is_deeper(_loose(text), MAX_DEPTH + 1)  # the innermost values count as a level
    except RecursionError:
        return True


def check_width(json: bytes | str, where: str, most: int) -> None:
    """Refuse JSON with too many values. `where` is the parameter, or empty for the body."""
    if len(json) <= most:
        return  # nearly every request
    raw = json.encode(errors="replace") if isinstance(json, str) else json
    separators = _count_separators(raw)
    weighs = separators * _SLOW_WEIGHT > most and count_exponents(raw) * _SLOW_WEIGHT > most
    if (weighs or separators > most) and _holds_more(raw, most, _weigh):
        named = f"'{where}'" if where else "body"
        raise RequestError(
            f"Invalid {named}: too many values. Expected at most {most} members of objects and "
            "elements of arrays in all. Send less in one request, or send it as text.",
            param=where or None,
            code="too_many_values",
        )


def is_wide(raw: bytes, most: int) -> bool:
    """Whether JSON may take longer to decode than `most` values."""
    return len(raw) > most and exceeds(raw, most, _weigh_answer)


def exceeds(raw: bytes, most: int, weigh: Callable[[bytes], int]) -> bool:
    """Whether JSON weighs more than `most` without the text in its strings. With very many strings
    their text counts, too: they weigh something themselves, and to skip each takes time."""
    if weigh(raw) <= most:
        return False
    strings = (raw.count(b'"') - raw.count(b'\\"')) // 2
    return strings > _MANY_STRINGS or _holds_more(raw, most, weigh)


def _weigh_answer(raw: bytes) -> int:
    shape = shape_of_numbers(raw)
    slow = _EXPONENT_WEIGHT * shape.count(b"0e") + _DIGITS_WEIGHT * shape.count(_DIGITS)
    return _count_separators(raw) + slow


def _count_separators(raw: bytes) -> int:
    return sum(map(raw.count, _BEFORE))


def _count_slow(raw: bytes) -> int:
    return len(_SLOW_NUMBER.findall(raw)) if len(raw) >= _SHORTEST_SLOW else 0


def _weigh(raw: bytes) -> int:
    return _count_separators(raw) + (_SLOW_WEIGHT - 1) * _count_slow(raw)


def _holds_more(raw: bytes, most: int, count: Callable[[bytes], int]) -> bool:
    """Whether there is more than `most`, not counting what is inside strings."""
    values = at = 0
    while (quote := raw.find(b'"', at)) >= 0:
        values += count(raw[at:quote])
        if values > most:
            return True
        at = _end_of_string(raw, quote + 1)
    return values + count(raw[at:]) > most


def _end_of_string(raw: bytes, at: int) -> int:
    """Return the position after the string that is open at `at`."""
    while True:
        piece = _STRING.match(raw, at)
        at = piece.end() if piece else len(raw)
        if raw[at : at + 1] != b"\\" or at + 1 >= len(raw):
            return at + 1
