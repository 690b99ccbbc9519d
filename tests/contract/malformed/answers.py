"""Calls that models get wrong, and what a client must see of each.

A model that never learns makes the same call however often it is asked. So what can be repaired is
repaired; what cannot is delivered with a finding, or as text if it is no JSON object and nothing
of it has been sent; and a strict tool's call that does not fit is an error.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.contract.malformed.texts import BROKEN_JSON, LONG

MALFORMED, INVALID = "malformed_tool_arguments", "invalid_tool_arguments"
UNKNOWN = "unknown_tool_call"
ANYTHING: dict[str, Any] = {"type": "object"}


@dataclass(frozen=True)
class BadCall:
    """A call, and what becomes of it: a value if it can be repaired, else a finding."""

    kind: str
    name: str
    arguments: str
    schema: Any = None
    tool: str = "f"
    repaired: Any = None
    code: str | None = None
    right: str = "{}"
    """What a model that learns says when it is told."""


def answers() -> list[BadCall]:
    """All of them."""
    made = [case for make in (broken, cut, slips, typed, fields, unknown) for case in make()]
    assert len({(case.kind, case.name) for case in made}) == len(made)
    return made


_BEHIND = ("two objects", "text behind", "a bracket too many")
"""A native call is over when its object is: what comes behind it is left out, and reported."""
_HALF_READ = ("two braces", "a code fence")
"""The same, where what is left is not JSON either."""


def broken() -> Iterator[BadCall]:
    """Arguments that are not JSON and cannot be made JSON."""
    for name, text in BROKEN_JSON.items():
        if name in _BEHIND:
            yield BadCall("text behind arguments", name, text, ANYTHING, repaired={"x": 1})
        elif name not in _HALF_READ:
            yield BadCall("broken arguments", name, text, ANYTHING, code=MALFORMED)
        quoted = json.dumps(text)
        yield BadCall("broken arguments", f"{name}, quoted", quoted, ANYTHING, code=MALFORMED)


def cut() -> Iterator[BadCall]:
    """Arguments that end too early: never completed."""
    kind, lax = "truncated arguments", LONG.replace('"y"', "'y'")
    for end in range(1, len(LONG)):
        yield BadCall(kind, f"{end}", LONG[:end], ANYTHING, code=MALFORMED)
    for end in range(40, len(lax)):
        yield BadCall(kind, f"{end} and lax", lax[:end], ANYTHING, code=MALFORMED)


_SLIPS: dict[str, tuple[str, Any]] = {
    "nothing": ("", {}),
    "spaces": ("  \n", {}),
    "null": ("null", {}),
    "an empty string": ('""', {}),
    "a trailing comma": ('{"x": 1,}', {"x": 1}),
    "trailing commas inside": ('{"x": [1, 2,], "y": {"z": 3,},}', {"x": [1, 2], "y": {"z": 3}}),
    "True": ('{"x": True}', {"x": True}),
    "False": ('{"x": False}', {"x": False}),
    "None": ('{"x": None}', {"x": None}),
    "single quotes": ("{'x': 'y'}", {"x": "y"}),
    "single and double quotes": ("{'x': \"it's\"}", {"x": "it's"}),
    "an escaped single quote": ("{'x': 'it\\'s'}", {"x": "it's"}),
    "a double quote in single ones": ("{'x': 'a\"b'}", {"x": 'a"b'}),
    "bare keys": ("{x: 1, y_2: 2}", {"x": 1, "y_2": 2}),
    "bare keys that are words": ("{true: 1, None: 2}", {"true": 1, "None": 2}),
    "a raw line break": ('{"x": "a\nb"}', {"x": "a\nb"}),
    "a raw tab": ('{"x": "a\tb"}', {"x": "a\tb"}),
    "raw CRLF": ('{"x": "a\r\nb"}', {"x": "a\r\nb"}),
    "all at once": ("{x: 'a\nb', 'y': [True, None,],}", {"x": "a\nb", "y": [True, None]}),
    "marks in strings": ("{'x': '}],:{[', }", {"x": "}],:{["}),
}


def slips() -> Iterator[BadCall]:
    """Slips with one reading, plain and in a JSON string."""
    for name, (text, value) in _SLIPS.items():
        if name != "marks in strings":  # braces in single quotes end a native call too early
            yield BadCall("slip", name, text, ANYTHING, repaired=value)
        quoted = json.dumps(text)
        if text.strip() not in ("", "null", '""'):
            yield BadCall("slip", f"{name}, quoted", quoted, ANYTHING, repaired=value)


_SCHEMAS: dict[str, Any] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object"},
    "integer or null": {"type": ["integer", "null"]},
    "integer by reference": {"$ref": "#/$defs/int"},
    "any of integer and null": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "number from a list": {"enum": [1, 2, 5]},
}
_DEFS = {"int": {"type": "integer"}}
_INTEGERS = {"5": 5, " 5 ": 5, "-1": -1}
_LISTS = {'["a"]': ["a"], "[]": []}
_TEXTS = ("a", "", "5", " 5 ", "-1", "05", "5.5", "five", "0x1", "1e999", "true", "False", "yes")
_TEXTS += ("null", "{}", '{"a": 1}', '["a"]', "[]", "[1", "{", "5,", "1 2", "NaN")
_VALUES: tuple[Any, ...] = (None, True, 5, 5.5, [], ["a"], [5], {}, {"a": 1}, *_TEXTS)
_REPAIRS: dict[str, dict[str, Any]] = {
    "integer": _INTEGERS,
    "number": {**_INTEGERS, "5.5": 5.5},
    "boolean": {"true": True, "False": False},
    "strings": {
        **_LISTS,
        **{text: [text] for text in _TEXTS if not text.startswith(("{", "["))},
    },
    "object": {"{}": {}, '{"a": 1}': {"a": 1}},
    "integer or null": _INTEGERS,
    "integer by reference": _INTEGERS,
    "any of integer and null": _INTEGERS,
    "number from a list": {"5": 5, " 5 ": 5},
}
_FITTING: dict[str, tuple[Any, ...]] = {
    "string": _TEXTS,
    "integer": (5,),
    "number": (5, 5.5),
    "boolean": (True,),
    "strings": ([], ["a"]),
    "object": ({}, {"a": 1}),
    "integer or null": (5, None),
    "integer by reference": (5,),
    "any of integer and null": (5, None),
    "number from a list": (5,),
}


def typed() -> Iterator[BadCall]:
    """Every kind of value where the schema wants each kind of thing."""
    for wanted, schema in _SCHEMAS.items():
        whole = {"type": "object", "properties": {"x": schema}, "$defs": _DEFS}
        fitting = {json.dumps(value) for value in _FITTING[wanted]}
        for value in _VALUES:
            if (written := json.dumps(value)) in fitting:
                continue
            text, name = f'{{"x": {written}}}', f"{written} as {wanted}"
            mended = _REPAIRS.get(wanted, {})
            if isinstance(value, str) and value in mended:
                repaired = {"x": mended[value]}
                yield BadCall("wrong type", name, text, whole, repaired=repaired)
            else:
                yield BadCall("wrong type", name, text, whole, code=INVALID)


_CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 0}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
_GOOD = '{"a": "x", "b": 1}'


def fields() -> Iterator[BadCall]:
    """Fields that are missing, too many, misspelt, or out of range."""
    for text in (
        "{}", '{"a": "x"}', '{"b": 1}', '{"A": "x", "b": 1}', '{"a": "x", "b": 1, "c": 2}',
        '{"a": "x", "b": -1}', '{"a": null, "b": 1}', '{"a": "x", "b": null}',
        '{"a ": "x", "b": 1}', '{"arguments": {"a": "x", "b": 1}}', '{"a": "x", "b": "-1"}',
        '{"a": ["x"], "b": 1}', '{"a": {"a": "x"}, "b": 1}', '{"a": "x", "b": 1.5}',
    ):  # fmt: skip
        yield BadCall("missing or extra field", text, text, _CLOSED, code=INVALID, right=_GOOD)


_NO_TOOLS = ("g", "ff", "f1", "read_file", "functions.g", "f.f", "f:x", "<f>", "f()", "ƒ", "f" * 64)


def unknown() -> Iterator[BadCall]:
    """Tools that were never offered, whatever their arguments."""
    for name in _NO_TOOLS:
        for text in ("{}", '{"x": 1}', "", "{"):
            yield BadCall("unknown tool", f"{name} {text}", text, ANYTHING, tool=name, code=UNKNOWN)
