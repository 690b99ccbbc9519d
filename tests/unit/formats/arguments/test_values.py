"""Text to JSON by schema, and Python literals to JSON."""

import pytest

from toolwire.formats.arguments.python_text import python_to_json
from toolwire.formats.arguments.schema import Schema
from toolwire.formats.arguments.values import coerce

ROOT = {"$defs": {"n": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}}}


@pytest.mark.parametrize(
    ("text", "types", "json"),
    [
        ("2", {"integer"}, "2"),
        ("+2", {"integer"}, "2"),
        ("2.0", {"integer"}, "2.0"),
        ("2.5", {"number"}, "2.5"),
        ("null", {"string"}, '"null"'),
        ("null", {"string", "null"}, "null"),
        ("True", {"boolean"}, "true"),
        ("5", {"string", "integer"}, "5"),
        ('{"a": 1}', {"object", "null"}, '{"a": 1}'),
        ("{'a': True}", {"object"}, '{"a": true}'),
        ("{broken", {"object"}, '"{broken"'),
        ("nan", {"number"}, '"nan"'),
        (" x ", {"integer"}, '" x "'),
        ("null", {"integer"}, "null"),
        ("2.5", {"integer"}, "2.5"),
        ("1e3", {"integer"}, "1e3"),
        ("5", {"array"}, "5"),
        ("5", {"object", "string"}, '"5"'),
        ("7", set(), '"7"'),
    ],
)
def test_text_becomes_what_the_schema_allows(text: str, types: set[str], json: str) -> None:
    assert coerce(text, frozenset(types)) == json


@pytest.mark.parametrize(
    ("node", "types"),
    [
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"$ref": "#/$defs/n"}, {"integer"}),
        ({"$ref": "#/$defs/loop"}, set()),
        ({"$ref": "#/nowhere"}, set()),
        ({"anyOf": [{"type": "object"}, {"$ref": "#/$defs/n"}]}, {"object", "integer"}),
        ({"allOf": [{"type": ["string", "integer"]}, {"type": "string"}]}, {"string"}),
        ({"enum": [1, "a", None]}, {"integer", "string", "null"}),
        ({"const": True}, {"boolean"}),
        ({"properties": {}}, {"object"}),
        ({}, set()),
        (True, set()),
    ],
)
def test_types_are_found_through_combinators(node: object, types: set[str]) -> None:
    assert Schema(node, ROOT).types() == types


def test_properties_are_found_behind_a_reference() -> None:
    root = {"$ref": "#/$defs/args", "$defs": {"args": {"properties": {"a": {"type": "integer"}}}}}
    assert Schema(root, root).property("a").types() == {"integer"}


@pytest.mark.parametrize(
    ("literal", "json"),
    [
        ("(1, 'a')", '[1, "a"]'),
        ("{1, 2}", "[1, 2]"),
        ("{1: None}", '{"1": null}'),
        ("[07, 1_000, .5, -3, +4]", "[7, 1000, 0.5, -3, 4]"),
        ("'\\x41\\u00e9\\101\\q'", '"A\\u00e9A\\\\q"'),
        ("'''a\nb'''", '"a\\nb"'),
        ("r'\\n'", '"\\\\n"'),
        ("'\\ud83c\\udf89'", '"\\ud83c\\udf89"'),
        ("['a', ]", '["a"]'),
    ],
)
def test_python_literals_become_json(literal: str, json: str) -> None:
    assert python_to_json(literal) == json


@pytest.mark.parametrize("text", ["f(x)", "1 + 1", "[1", "a", "9**9", "(1, 2) x", "[" * 500])
def test_what_is_no_literal_is_refused(text: str) -> None:
    assert python_to_json(text) is None
