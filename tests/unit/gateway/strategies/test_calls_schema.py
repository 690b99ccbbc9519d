"""The schema of calls lets through every call of the tools, and nothing else."""

import json
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import pytest
from tests.asking import asking

from toolwire.formats import extract
from toolwire.gateway.strategies.calls_schema import (
    CALLS_FORMAT,
    calls_or_response_schema,
    calls_schema,
    response_schema,
)
from toolwire.protocol.tools import ToolSpec

NODE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.org/node",
    "type": "object",
    "properties": {
        "child": {"$ref": "#"},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
        "default": {"$ref": "#/$defs/tag"},
        "$ref": {"type": "integer"},
        "literal": {"const": {"$ref": "#/$defs/tag"}},
    },
    "additionalProperties": False,
    "$defs": {"tag": {"type": "string", "minLength": 2}},
}
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (ToolSpec("get_weather", "", WEATHER), ToolSpec("add_node", "", NODE), ToolSpec("now"))


def fits(
    *calls: Mapping[str, Any], tools: tuple[ToolSpec, ...] = TOOLS, parallel: bool = True
) -> bool:
    validator = jsonschema_rs.validator_for(json.loads(calls_schema(tools, parallel=parallel)))
    return bool(validator.is_valid({"tool_calls": list(calls)}))


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def test_calls_of_every_tool_fit() -> None:
    assert fits(call("get_weather", city="Paris"))
    assert fits(call("now"), call("add_node", tags=["ab"], child={"child": {"tags": []}}))


@pytest.mark.parametrize(
    "wrong",
    [
        call("get_time", city="Paris"),
        call("get_weather"),
        call("get_weather", city=5),
        call("now", city="Paris"),
        {"name": "now"},
        {"name": "now", "arguments": "{}"},
        {"name": "now", "arguments": {}, "id": "1"},
    ],
)
def test_what_is_no_call_of_a_tool_does_not_fit(wrong: dict[str, Any]) -> None:
    assert not fits(wrong)


def test_there_is_at_least_one_call() -> None:
    assert not fits()


def test_there_is_at_most_one_call_unless_several_are_allowed() -> None:
    two = (call("now"), call("now"))
    assert fits(*two)
    assert fits(two[0], parallel=False)
    assert not fits(*two, parallel=False)


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        ({"tags": ["ab"]}, True),
        ({"tags": ["a"]}, False),
        ({"child": {"child": {"tags": ["a"]}}}, False),
        ({"child": {"other": 1}}, False),
        ({"default": "ab"}, True),
        ({"default": "a"}, False),
        ({"$ref": 5}, True),
        ({"$ref": "#"}, False),
        ({"literal": {"$ref": "#/$defs/tag"}}, True),
        ({"literal": {"$ref": "#/$defs/tool_1/$defs/tag"}}, False),
    ],
)
def test_references_lead_where_they_led(arguments: dict[str, Any], right: bool) -> None:
    assert fits(call("add_node", **arguments)) is right
    assert jsonschema_rs.validator_for(NODE).is_valid(arguments) is right


def test_a_single_tool_needs_no_choice() -> None:
    schema = json.loads(calls_schema(TOOLS[:1], parallel=True))
    assert schema["properties"]["tool_calls"]["items"]["properties"]["name"] == {
        "const": "get_weather"
    }


def test_the_root_is_an_object_because_some_servers_want_one() -> None:
    assert json.loads(calls_schema(TOOLS, parallel=True))["type"] == "object"


def test_what_fits_is_read_by_the_format() -> None:
    text = json.dumps({"tool_calls": [call("now"), call("get_weather", city="Paris")]})
    read = [(found.name, found.decoded()) for found in extract(CALLS_FORMAT, text, TOOLS).calls]
    assert read == [("now", {}), ("get_weather", {"city": "Paris"})]


def test_calls_or_the_form_of_the_client_and_nothing_else_fit_the_union() -> None:
    form = {
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/node"}},
        "required": ["node"],
        "additionalProperties": False,
        "$defs": {"node": {"type": "integer"}},
    }
    schema = calls_or_response_schema(calls_schema(TOOLS, parallel=True), form)
    fitting = jsonschema_rs.validator_for(json.loads(schema)).is_valid
    assert fitting({"tool_calls": [call("get_weather", city="Bern")]})
    assert fitting({"node": 7})
    assert not fitting({"tool_calls": [call("get_weather", city=7)]})
    assert not fitting({"node": "7"})
    assert not fitting({})


@pytest.mark.parametrize(
    ("wanted", "form"),
    [
        ({"type": "json_schema", "json_schema": {"name": "n", "schema": WEATHER}}, WEATHER),
        ({"type": "json_object"}, {"type": "object"}),
        ({"type": "text"}, None),
        (None, None),
    ],
)
def test_the_form_that_a_client_wants_is_a_schema(wanted: Any, form: Any) -> None:
    assert response_schema(asking((), {"response_format": json.dumps(wanted).encode()})) == form
    assert response_schema(asking(())) is None


def test_text_in_the_clients_form_is_no_call() -> None:
    for text in ('{"node": 7}', '{"name": "x"}', '{"tool_calls": 0}'):
        found = extract(CALLS_FORMAT, text, TOOLS)
        assert (found.calls, found.content) == ([], text)
