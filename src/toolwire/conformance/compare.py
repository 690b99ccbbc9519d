"""Describes the differences between the expected and the actual result."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from toolwire.conformance.calls import ExtractedToolCall
from toolwire.conformance.case import TestCase

ContentRule: TypeAlias = Literal["exact", "trimmed", "any"]
"""How content is compared: exactly, without surrounding whitespace, or not at all."""

_SHOWN = 160


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1, but 1 is 1.0."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def differences(
    case: TestCase,
    calls: Sequence[ExtractedToolCall],
    content: str | None,
    reasoning: str | None,
    *,
    rule: ContentRule = "exact",
) -> list[str]:
    """Return every difference from the expected result; empty if there is none."""
    found = list(_calls(case.expected_tool_calls, calls))
    ids = [call.id for call in calls]
    if case.expected_ids and not found:
        found += _ids(case.expected_ids, ids)
    found += _made_up(case, ids)
    found += _text("content", case.expected_content, content, rule)
    found += _text("reasoning", case.expected_reasoning, reasoning, rule)
    return found


def _calls(
    expected: Sequence[ExtractedToolCall], found: Sequence[ExtractedToolCall]
) -> Iterator[str]:
    wanted = [call.function.name for call in expected]
    names = [call.function.name for call in found]
    if names != wanted:
        yield f"calls: expected {_list(wanted)}, found {_list(names)}"
        return
    for index, (one, other) in enumerate(zip(expected, found, strict=True)):
        if not same_json(one.function.decoded(), other.function.decoded()):
            yield (
                f"arguments of call {index} ({one.function.name}): "
                f"expected {_short(one.function.arguments)}, "
                f"found {_short(other.function.arguments)}"
            )
    ids = [call.id for call in found]
    if len(set(ids)) != len(ids):
        yield f"ids: they are not unique: {_list(ids)}"


def _ids(expected: Iterable[str], found: Iterable[str]) -> Iterator[str]:
    if list(expected) != list(found):
        yield f"ids: expected {_list(expected)}, found {_list(found)}"


def _made_up(case: TestCase, ids: Iterable[str]) -> Iterator[str]:
    for one in ids:
        if len(one) < case.shortest_id and one not in case.model_output:
            yield f"ids: {one!r} is short, and may collide"


def _text(what: str, expected: str | None, found: str | None, rule: ContentRule) -> Iterator[str]:
    one, other = expected or "", found or ""
    if rule == "trimmed":
        one, other = one.strip(), other.strip()
    if rule != "any" and one != other:
        yield f"{what}: expected {_short(json_text(one))}, found {_short(json_text(other))}"


def json_text(text: str) -> str:
    """Return a text as JSON, which makes invisible characters visible."""
    return json.dumps(text, ensure_ascii=False)


def _list(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 20]} ... {text[-15:]}"
