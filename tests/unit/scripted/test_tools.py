"""Arguments are made to fit whatever schema a tool has."""

from typing import Any

import jsonschema_rs
import pytest
from tests.scripted.tools import ROLES, fill_schema, fill_tool, find_tool

SCHEMAS: dict[str, dict[str, Any]] = {
    "an enum": {"enum": ["a", "b"]},
    "a const": {"const": 7},
    "a union": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    "a list of types": {"type": ["null", "string"]},
    "an array": {"type": "array", "items": {"type": "boolean"}, "minItems": 1},
    "a minimum": {"type": "integer", "minimum": 5},
    "a reference": {"$ref": "#/$defs/Place", "$defs": {"Place": {"type": "object"}}},
    "no type at all": {},
    "properties without a type": {"properties": {"a": {"type": "number"}}, "required": ["a"]},
    "an object in an object": {
        "type": "object",
        "properties": {
            "at": {"$ref": "#/$defs/Point"},
            "extra": {"type": "string"},
        },
        "required": ["at"],
        "additionalProperties": False,
        "$defs": {
            "Point": {
                "type": "object",
                "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
                "required": ["x", "y"],
            }
        },
    },
}


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_the_value_fits_the_schema(schema: dict[str, Any]) -> None:
    assert jsonschema_rs.is_valid(schema, fill_schema(schema, {}))


def test_a_tool_without_parameters_is_called_without_arguments() -> None:
    assert fill_tool({"name": "get_goal"}, {"path": "x"}) == {}


@pytest.mark.parametrize("name", ["path", "filePath", "file_path", "absolute-path", "files"])
def test_a_parameter_is_known_by_any_of_its_names(name: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}}}
    assert fill_tool({"name": "f", "parameters": schema}, {"path": "p"}) == {name: "p"}


def test_an_optional_parameter_without_a_meaning_is_left_out() -> None:
    schema = {"type": "object", "properties": {"limit": {"type": "integer"}}}
    assert fill_tool({"name": "f", "parameters": schema}, {"path": "p"}) == {}


def test_a_nullable_parameter_is_null_unless_it_has_a_meaning() -> None:
    nullable = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    properties = {"limit": nullable, "path": nullable}
    schema = {"type": "object", "properties": properties, "required": ["limit", "path"]}
    tool = {"name": "f", "parameters": schema}
    assert fill_tool(tool, {"path": "p"}) == {"limit": None, "path": "p"}


def test_a_reference_that_leads_nowhere_is_a_text() -> None:
    assert fill_schema({"$ref": "#/$defs/Lost"}, {}) == "text"


def test_a_tool_must_take_what_its_role_needs() -> None:
    todo = {"name": "write_todos", "parameters": {"properties": {"todos": {"type": "array"}}}}
    write = {"name": "write", "parameters": {"properties": {"path": {}, "content": {}}}}
    assert find_tool([todo, write], ROLES["write"]) is write
    assert find_tool([todo], ROLES["write"]) is None
