"""What the model is held to is within the client's schema, and has an end."""

import json
from typing import Any

import jsonschema_rs
import pytest

from toolwire.backends.embedded.schema import MOST_ITEMS, MOST_OPTIONAL, grammar_of, narrowed
from toolwire.backends.embedded.tuning import Bounds

BOUNDS = Bounds(string=5, array=2)
STRING, LIST = {"type": "string"}, {"type": "array"}


def narrow(schema: Any, bounds: Bounds = BOUNDS) -> Any:
    return narrowed(json.dumps(schema).encode(), bounds)


def fits(schema: Any, value: Any, bounds: Bounds = BOUNDS) -> bool:
    return bool(jsonschema_rs.validator_for(narrow(schema, bounds)).is_valid(value))


@pytest.mark.parametrize("place", ["properties", "$defs", "anyOf", "items", "prefixItems"])
def test_strings_and_arrays_have_an_end_wherever_they_stand(place: str) -> None:
    by_name = place in ("properties", "$defs")
    inside: Any = {"a": STRING} if by_name else STRING if place == "items" else [STRING]
    found = narrow({place: inside})[place]
    found = found["a"] if by_name else found if place == "items" else found[0]
    assert found["maxLength"] == 5


@pytest.mark.parametrize(
    ("schema", "longest"),
    [
        (STRING, 5),
        ({**STRING, "maxLength": 3}, 3),
        ({**STRING, "maxLength": 300}, 300),
        ({**STRING, "minLength": 20}, 20),
        ({"enum": ["a word that is long"]}, None),
        ({"const": "a word that is long"}, None),
        ({"$ref": "#/$defs/x"}, None),
    ],
)
def test_a_limit_of_the_schema_comes_first(schema: dict[str, Any], longest: int | None) -> None:
    assert narrow(schema).get("maxLength") == longest


def test_without_bounds_only_what_no_grammar_can_count_is_bounded() -> None:
    assert narrow({**STRING, **LIST}, Bounds()) == {**STRING, **LIST}
    assert narrow({**LIST, "maxItems": 10**9}, Bounds())["maxItems"] == MOST_ITEMS


@pytest.mark.parametrize(
    "schema",
    [
        {**STRING, "minLength": 4, "maxLength": 2},
        {**LIST, "minItems": 4, "maxItems": 2},
        {**LIST, "minItems": MOST_ITEMS + 1},
        {"items": {**LIST, "minItems": 10**9, "maxItems": 10**9}},
    ],
)
@pytest.mark.parametrize("bounds", [BOUNDS, Bounds()])
def test_what_has_no_end_or_no_value_is_refused(schema: Any, bounds: Bounds) -> None:
    with pytest.raises(ValueError, match="nothing can have"):
        narrow(schema, bounds)


def test_only_declared_properties_are_written_unless_others_are_welcome() -> None:
    one = {"type": "object", "properties": {"a": {}}}
    assert not fits(one, {"b": 1})
    assert fits({**one, "additionalProperties": True}, {"b": 1})
    assert fits({**one, "patternProperties": {"^b": {}}}, {"b": 1})
    assert fits({"type": "object"}, {"b": 1})
    assert fits({"type": "object", "properties": {}}, {"b": 1})


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
        {"properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}]},
        {"properties": {"a": {}}, "$ref": "#/$defs/b", "$defs": {"b": {"properties": {"b": {}}}}},
    ],
)
def test_an_object_of_several_schemas_leaves_room_for_each(schema: dict[str, Any]) -> None:
    assert fits(schema, {"a": 1, "b": 2})


@pytest.mark.parametrize("pattern", ["^(?=a)b", "(?!x)", "(?<=y)z", r"\bword\b", r"(a)\1"])
def test_a_pattern_that_looks_around_is_left_to_the_check_of_the_answer(pattern: str) -> None:
    assert "pattern" not in narrow({**STRING, "pattern": pattern})


def test_other_patterns_stay() -> None:
    assert narrow({**STRING, "pattern": "^(?:a|b)+$"})["pattern"] == "^(?:a|b)+$"


def test_a_property_that_is_called_like_a_keyword_is_a_property() -> None:
    schema = {"properties": {"pattern": {"const": "(?=x)"}, "maxItems": {"type": "integer"}}}
    assert fits(schema, {"pattern": "(?=x)", "maxItems": 3})


@pytest.mark.parametrize("schema", [b"true", b"[]", b"5"])
def test_a_schema_that_is_no_object_is_refused(schema: bytes) -> None:
    with pytest.raises(ValueError, match="must be an object"):
        narrowed(schema)


def test_a_grammar_is_one_line_of_json_behind_its_head() -> None:
    lines = grammar_of({"const": 'a "quoted"\nword'}).splitlines()
    assert lines[0] == "%llguidance {}"
    assert json.loads(lines[1].removeprefix("start: %json "))["const"] == 'a "quoted"\nword'
    assert len(lines) == 2


def test_of_separate_schemas_each_is_closed_for_itself() -> None:
    composed = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}
    schema = {"$defs": {"one": {"properties": {"a": {}}}, "two": composed}}
    found = narrowed(json.dumps(schema).encode(), separate=True)["$defs"]
    assert found["one"]["additionalProperties"] is False
    assert found["two"] == composed
    assert "additionalProperties" not in narrow(schema)["$defs"]["one"]


def test_an_object_of_any_kind_has_an_end_too() -> None:
    assert fits({"type": "object"}, {"a": 1, "b": "text"})
    assert not fits({"type": "object"}, {"a": {"b": {}}})
    assert not fits({"type": "object"}, {"a": 1, "b": 2, "c": 3})
    assert fits({"type": "object", "minProperties": 3}, {"a": 1, "b": 2, "c": 3})
    assert narrow({"type": "object"}, Bounds()) == {"type": "object"}
    assert fits({"type": "object", "required": ["a"]}, {"a": {"b": {}}})


def test_more_optional_properties_than_a_grammar_holds_are_refused_wherever_they_stand() -> None:
    many = {f"p{number}": STRING for number in range(MOST_OPTIONAL + 1)}
    with pytest.raises(ValueError, match="more than 400 optional properties"):
        narrow({"properties": {"inner": {"type": "object", "properties": many}}})
    narrow({"type": "object", "properties": many, "required": ["p0"]})
