"""Splits a text into chunks: by size, by the case's deltas, and at critical positions."""

from collections.abc import Iterable, Iterator
from typing import Any

from toolwire.conformance.case import TestCase

SIZES = (1, 2, 3, 5, 11, 23)


def cuttings(case: TestCase) -> Iterator[tuple[str, list[str]]]:
    """Yield every way to split a case's text, with its name."""
    text = case.model_output
    yield "in one piece", [text]
    if case.deltas:
        yield "in the deltas of the case", list(case.deltas)
    for size in SIZES:
        yield f"in pieces of {size}", [text[i : i + size] for i in range(0, len(text), size)]
    for place in critical_places(case):
        yield f"cut at {place}", [text[:place], text[place:]]


def critical_places(case: TestCase) -> list[int]:
    """Pattern 10: before and inside names, inside keys and values, and at the case's `splits`."""
    text = case.model_output
    places = set(case.splits)
    at = 0
    for call in case.expected_tool_calls:
        name = call.function.name
        found = text.find(name, at)
        if found >= 0:
            places |= {found, found + len(name) // 2}
            at = found + len(name)
        places |= _inside(text, _words(call.function.decoded()))
    return sorted(place for place in places if 0 < place < len(text))


def _inside(text: str, words: Iterable[str]) -> set[int]:
    """Return the middle of the first occurrence of each word."""
    found = ((text.find(word), word) for word in words)
    return {start + len(word) // 2 for start, word in found if start >= 0}


def _words(value: Any) -> Iterator[str]:
    """Yield every key and string in a JSON value that is long enough to split."""
    if isinstance(value, str):
        if len(value) > 1:
            yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _words(inner)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _words(key)
            yield from _words(inner)
