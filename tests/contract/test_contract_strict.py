"""Strict mode: what a schema must have, how large it may be, and what follows for the turn."""

from typing import Any

import pytest
from tests.contract.chatting import chat, speaking
from tests.contract.wire import ABSENT, body, read, refusal, shown, tool

from toolwire.errors import RequestError
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.schemas.check import SchemaLimits
from toolwire.surfaces.openai.reader import RequestReader
from toolwire.surfaces.openai.tools import ToolReader

TEXT = {"type": "string"}
REQUIRED = (
    "'required' is required to be supplied and to be an array including every key in properties. "
    "Missing "
)
CLOSED = "'additionalProperties' is required to be supplied and to be false."


def closed(**properties: Any) -> dict[str, Any]:
    """An object as strict mode wants it."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def nested(levels: int, name: str = "inner") -> dict[str, Any]:
    """Objects within objects, so many in all."""
    schema = closed(leaf=TEXT)
    for _ in range(levels - 1):
        schema = closed(**{name: schema})
    return schema


def strict(schema: dict[str, Any], **more: Any) -> bytes:
    """A request with one strict tool."""
    return body(tools=[tool(parameters=schema, strict=True)], **more)


LOOSE = {**closed(a=TEXT), "additionalProperties": True}
ALLOWED = {
    "no arguments": closed(),
    "every kind of value": closed(
        a=TEXT,
        b={"type": "integer"},
        c={"type": ["string", "null"]},
        d={"anyOf": [TEXT, {"type": "null"}]},
        e={"enum": ["x", "y"]},
        f={"const": 1},
        g={"type": "array", "items": closed(h=TEXT)},
    ),
    "definitions": {**closed(a={"$ref": "#/$defs/A"}), "$defs": {"A": closed(b=TEXT)}},
    "a recursive definition": {**closed(a={"$ref": "#"}), "description": "x"},
    "properties called items": nested(5, "items"),
    "properties called properties": nested(5, "properties"),
    "five levels": nested(5),
    "a hundred properties": closed(**{f"p{at}": TEXT for at in range(100)}),
    "a pattern": closed(a={"type": "string", "pattern": "^[a-z]{1,8}$"}),
}
REFUSED = {
    "open at the root": (LOOSE, "()", CLOSED),
    "open in a property": (closed(a=LOOSE), "('properties', 'a')", CLOSED),
    "open in items": (
        closed(a={"type": "array", "items": LOOSE}), "('properties', 'a', 'items')", CLOSED,
    ),
    "open in a choice": (
        closed(a={"anyOf": [TEXT, LOOSE]}), "('properties', 'a', 'anyOf', '1')", CLOSED,
    ),
    "open in a definition": (
        {**closed(a=TEXT), "$defs": {"A": LOOSE}}, "('$defs', 'A')", CLOSED,
    ),
    "open without a type": (
        closed(a={"properties": {}}), "('properties', 'a')", CLOSED,
    ),
    "open and nullable": (
        closed(a={"type": ["object", "null"]}), "('properties', 'a')", CLOSED,
    ),
    "not required at the root": ({**closed(a=TEXT), "required": []}, "()", REQUIRED + "'a'."),
    "not required in a property": (
        closed(a={**closed(b=TEXT, c=TEXT), "required": ["b"]}),
        "('properties', 'a')", REQUIRED + "'c'.",
    ),
    "no required at all": (
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": False},
        "()", REQUIRED + "'a'.",
    ),
    "six levels": (
        nested(6),
        str(("properties", "inner") * 5 + ("properties", "leaf")),
        "nesting exceeds 5 levels.",
    ),
    **{
        keyword: ({**closed(), keyword: value}, "()", f"'{keyword}' is not permitted.")
        for keyword, value in {
            "allOf": [{}], "not": {}, "if": {}, "then": {}, "else": {}, "patternProperties": {},
            "dependentRequired": {}, "dependentSchemas": {},
        }.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("schema", ALLOWED.values(), ids=ALLOWED)
def test_a_strict_schema_is_accepted_and_sent_on_as_it_is(schema: dict[str, Any]) -> None:
    checked = read(strict(schema)).outgoing.tools.tools["f"]
    assert checked.strict
    assert checked.parameters == schema


@pytest.mark.parametrize(("schema", "context", "fault"), REFUSED.values(), ids=REFUSED)
def test_a_fault_is_named_with_its_place(schema: dict[str, Any], context: str, fault: str) -> None:
    assert shown(refusal(strict(schema))) == {
        "status": 400,
        "message": f"Invalid schema for function 'f': In context={context}, {fault}",
        "type": "invalid_request_error",
        "param": "tools[0].function.parameters",
        "code": "invalid_function_parameters",
    }


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            {**closed(), "anyOf": [{}]},
            "schema must have type 'object' and not have 'anyOf' at the top level.",
        ),
        (
            closed(**{f"p{at}": TEXT for at in range(101)}),
            "101 properties in all, more than 100 allowed.",
        ),
        (
            closed(a=closed(**{f"p{at}": TEXT for at in range(100)})),
            "101 properties in all, more than 100 allowed.",
        ),
        (closed(a={"$ref": "#/$defs/Gone"}), "'$ref' '#/$defs/Gone' leads nowhere."),
        (
            closed(a={"pattern": r"^\p{L}{1,500}$"}),
            r"the 'pattern' '^\\p{L}{1,500}$' is too costly to check.",
        ),
    ],
    ids=["anyOf at the root", "101", "101 in two levels", "dangling", "costly"],
)
def test_a_fault_of_the_whole_is_named(schema: dict[str, Any], why: str) -> None:
    assert refusal(strict(schema)).message == f"Invalid schema for function 'f': {why}"


@pytest.mark.parametrize("schema", [value[0] for value in REFUSED.values()], ids=REFUSED)
def test_a_tool_that_is_not_strict_may_be_all_that(schema: dict[str, Any]) -> None:
    assert read(body(tools=[tool(parameters=schema)])).outgoing.tools.tools


def test_the_limits_can_be_configured() -> None:
    limits = SchemaLimits(strict_properties=5000, strict_depth=10)
    tools = ToolReader(max_tools=128, cache_bytes=0, schema_limits=limits)
    reader = RequestReader(tools, max_messages=1)
    wide = closed(**{f"p{at}": TEXT for at in range(5000)})
    assert reader.read(strict(wide)).tools.strict
    assert reader.read(strict(nested(10))).tools.strict
    with pytest.raises(RequestError):
        reader.read(strict(nested(11)))


@pytest.mark.parametrize(
    ("asked", "parallel", "adjusted"),
    [(True, False, ("parallel_tool_calls",)), (False, False, ()), (ABSENT, True, ())],
)
def test_strict_tools_allow_one_call_a_turn_where_the_client_said_anything(
    asked: object, parallel: bool, adjusted: tuple[str, ...]
) -> None:
    request = read(strict(closed(), parallel_tool_calls=asked)).request
    assert (request.parallel, request.adjusted) == (parallel, adjusted)


def test_one_strict_tool_among_others_is_enough() -> None:
    tools = [tool("g"), tool(parameters=closed(), strict=True)]
    assert read(body(tools=tools, parallel_tool_calls=True)).request.parallel is False


@pytest.mark.parametrize("stream", [False, True])
def test_several_strict_calls_are_allowed_where_the_client_said_nothing(stream: bool) -> None:
    said = Fragment(calls=(CallFragment(0, "a", "f", "{}"), CallFragment(1, "b", "f", "{}")))
    client = chat(strict(closed(), stream=stream), speaking(said, Fragment(finish="stop")))
    if stream:
        deltas = [chunk["choices"][0]["delta"] for chunk in client.chunks]
        starts = [c for delta in deltas for c in delta.get("tool_calls", ()) if "id" in c]
        assert len(starts) == 2
    else:
        assert len(client.json["choices"][0]["message"]["tool_calls"]) == 2
    assert "toolwire-adjusted-params" not in client.headers


def test_each_of_several_strict_calls_is_checked() -> None:
    bad = CallFragment(1, "b", "f", '{"no": 1}')
    said = Fragment(calls=(CallFragment(0, "a", "f", "{}"), bad))
    client = chat(strict(closed()), speaking(said, Fragment(finish="stop")))
    assert client.status == 502


def test_several_strict_calls_can_be_allowed_by_configuration() -> None:
    tools = ToolReader(max_tools=128, cache_bytes=0)
    reader = RequestReader(tools, max_messages=1, strict_parallel=True)
    assert reader.read(strict(closed())).parallel is True
    assert reader.read(strict(closed(), parallel_tool_calls=False)).parallel is False


def test_the_client_is_told_that_parallel_calls_were_turned_off() -> None:
    said = Fragment(calls=(CallFragment(0, "a", "f", "{}"), CallFragment(1, "b", "f", "{}")))
    client = chat(
        strict(closed(), parallel_tool_calls=True), speaking(said, Fragment(finish="stop"))
    )
    assert client.headers["toolwire-adjusted-params"] == "parallel_tool_calls"
    assert len(client.json["choices"][0]["message"]["tool_calls"]) == 1
    assert "call_dropped:parallel_tool_calls_false" in client.headers["toolwire-repairs"]
