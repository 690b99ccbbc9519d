"""What it costs to check arguments is never more than was estimated, and that is found quickly
(R22)."""

import json
import time
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.schemas import FANS, fan, recursive
from tests.timing import cpu, least

from toolwire.errors import ToolSchemaError
from toolwire.protocol.schemas.check import MOST_CHECKS, SchemaLimits, check_schema
from toolwire.protocol.schemas.cost import (
    _UNUSUAL_NUMBER,
    CEILING,
    SchemaCost,
    _has_unusual_number,
    estimate,
)
from toolwire.protocol.schemas.repair import find_ref

HERE = 500_000
"""Units that are spent at once, and visits that are explained at once."""
EXPLAINED = 1_000


def visits(schema: Any, value: Any, root: Any) -> int:
    """How often any part is looked at if nothing is left out: what a naive validator does.

    Counted up to a limit: some would go on for ever.
    """
    count = 0
    pending = [(schema, value)]
    while pending and count < 20_000:
        part, here = pending.pop()
        count += 1
        if isinstance(part, dict):
            pending += [(to, here) for to in same(part, root)]
            pending += below(part, here)
    return count


def same(part: Any, root: Any) -> list[Any]:
    """What the same value is checked against."""
    parts = [to for key in ("anyOf", "oneOf", "allOf") for to in part.get(key, [])]
    parts += [part[key] for key in ("not", "if", "then", "else") if key in part]
    parts += part.get("dependentSchemas", {}).values()
    found = find_ref(root, part["$ref"]) if "$ref" in part else None
    return parts + list(found or ())


def below(part: Any, value: Any) -> list[tuple[Any, Any]]:
    """What the values inside are checked against."""
    found = []
    if isinstance(value, dict):
        for key, inner in value.items():
            parts = [part["properties"][key]] if key in part.get("properties", {}) else []
            parts += part.get("patternProperties", {}).values()
            parts += [part[k] for k in ("additionalProperties", "propertyNames") if k in part]
            found += [(to, inner) for to in parts]
    if isinstance(value, list):
        for at, inner in enumerate(value):
            parts = part.get("prefixItems", [])[at : at + 1]
            parts = parts + [part[k] for k in ("items", "contains") if k in part]
            found += [(to, inner) for to in parts]
    return found


KEYS = st.sampled_from(["a", "b", "c"])
BELOW = st.sampled_from([f"#/$defs/d{n}" for n in range(4)])


def parts(refs: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Parts of schemas that refer to these; recursion only where a value is inside another."""
    leaf = st.sampled_from([{"type": "null"}, {}, True, {"enum": [1, 2]}])
    ref = refs.map(lambda to: {"$ref": to})
    inner = BELOW.map(lambda to: {"$ref": to}) | leaf
    some = st.lists(leaf | ref, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "anyOf": some,
            "oneOf": some,
            "allOf": some,
            "not": leaf | ref,
            "if": leaf | ref,
            "then": leaf | ref,
            "dependentSchemas": st.dictionaries(KEYS, leaf | ref, max_size=2),
            "properties": st.dictionaries(KEYS, inner, max_size=2),
            "patternProperties": st.dictionaries(KEYS, inner, max_size=2),
            "additionalProperties": inner,
            "propertyNames": leaf,
            "items": inner,
            "contains": inner,
            "prefixItems": st.lists(inner, max_size=2),
        },
    )


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    """Each part refers, for the same value, only to those behind it."""
    defs = {}
    for number in range(4):
        behind = [f"#/$defs/d{n}" for n in range(number + 1, 4)] or ["#/$defs/none"]
        defs[f"d{number}"] = draw(parts(st.sampled_from(behind)))
    return {"type": "object", **draw(parts(BELOW)), "$defs": defs}


VALUES = st.recursive(
    st.none() | st.integers(0, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schema=schemas(), arguments=st.dictionaries(KEYS, VALUES, max_size=3))
def test_no_arguments_cost_more_than_the_estimate(schema: Any, arguments: Any) -> None:
    cost = estimate(schema)
    assert cost.certain
    for text in (json.dumps(arguments), json.dumps(arguments, separators=(",", ":"))):
        units, most = cost.units_of(text), cost.visits_of(text)
        assert visits(schema, arguments, schema) <= most <= units


@pytest.mark.timed
@pytest.mark.parametrize("keyword", FANS)
def test_the_estimate_takes_linear_time(keyword: str) -> None:
    def seconds(levels: int) -> float:
        schema = json.loads(json.dumps(fan(keyword, levels)))
        return cpu(lambda: estimate(schema))

    def fits(little: float, much: float) -> bool:
        return much < 8 * 4 * little + 0.01

    assert fits(*least(lambda: seconds(100), lambda: seconds(800), enough=fits))


@pytest.mark.parametrize("keyword", FANS)
def test_every_keyword_that_multiplies_is_counted(keyword: str) -> None:
    few, many = estimate(fan(keyword, 3)), estimate(fan(keyword, 12))
    text = '{"p": {"a": 1, "b": 2}}'
    assert few.units_of(text) < HERE
    assert many.units_of(text) >= 2**12
    assert many.visits_of(text) > EXPLAINED


def test_numbers_stop_at_the_ceiling() -> None:
    assert estimate(fan("anyOf", 3_000)).units_of("{}" * 20) == CEILING


def test_a_schema_that_refers_to_itself_once_costs_the_same_at_every_depth() -> None:
    json_value = {
        "anyOf": [
            {"type": ["string", "number", "boolean", "null"]},
            {"type": "array", "items": {"$ref": "#/$defs/json"}},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}},
        ]
    }
    schema = {"type": "object", "properties": {"a": json_value}, "$defs": {"json": json_value}}
    cost = estimate(schema)
    assert not cost.units.grows
    assert cost.units_of("[" * 500 + "]" * 500) < HERE


def test_one_that_refers_to_itself_in_several_ways_costs_more_with_every_level() -> None:
    cost = estimate(recursive(3))
    assert cost.units_of('{"p": 1}') < HERE
    assert cost.units.grows
    assert cost.units_of('{"p": ' * 40 + "1" + "}" * 40) == CEILING


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$defs": {"a": {"$id": "http://x/", "$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"properties": {"a": {"$dynamicRef": "http://x/y"}}},
    ],
)
def test_what_cannot_be_followed_is_not_called_cheap(schema: Any) -> None:
    assert estimate(schema).units_of("{}") == CEILING


def test_depth_is_told_from_many_values_side_by_side() -> None:
    cost = estimate(recursive(3))
    assert cost.units_of(json.dumps({"p": [{"a": "]}"}] * 40})) < HERE
    for deep in ("[" * 40, "[']'," * 40, '["]",' * 40, '{"p": "' + "[" * 40 + '"}'):
        assert cost.units_of(deep) == CEILING


def test_long_texts_are_dear_where_there_are_patterns() -> None:
    plain = estimate({"properties": {"a": {"type": "string"}}})
    pattern = estimate({"properties": {"a": {"pattern": "(a|b)*a(a|b){300}c"}}})
    text = json.dumps({"a": "x" * 100_000})
    assert plain.units_of(text) < HERE < pattern.units_of(text)
    keys = estimate({"patternProperties": {f"^k{n}[a-z]+": {} for n in range(3_000)}})
    assert keys.units_of(json.dumps({f"a{n}": 1 for n in range(100)})) > HERE


EXACT = [
    {"items": {"multipleOf": 1e-300}},
    {"items": {"multipleOf": 0.1}},
    {"items": {"minimum": 0.5, "maximum": 10**300}},
    {"items": {"exclusiveMinimum": 0}},
    {"items": {"enum": [1, 2, 3]}},
    {"items": {"const": 10**40}},
    {"uniqueItems": True},
]
"""What compares numbers exactly."""


@pytest.mark.parametrize("part", EXACT)
@pytest.mark.parametrize(
    "numbers", [[1e300] * 4_000, [(1 << 66) + n for n in range(4_000)], [10**4000] * 100]
)
def test_numbers_that_are_compared_at_length_are_dear(part: Any, numbers: Any) -> None:
    schema = {"properties": {"p": {"type": "array", **part}}}
    text = json.dumps({"p": numbers})
    cost = estimate(schema).units_of(text)
    assert cost > HERE or took(schema, numbers) < 0.1
    assert estimate(schema).units_of('{"p": [1, 2, 3]}') < HERE


def took(schema: Any, numbers: Any) -> float:
    """Seconds to check the numbers."""
    validator = jsonschema_rs.validator_for(schema)
    began = time.process_time()
    validator.is_valid({"p": numbers})
    return time.process_time() - began


@pytest.mark.parametrize("digit", ["9", "\\u0039"])
def test_digits_that_are_written_as_escapes_count_too(digit: str) -> None:
    cost = estimate({"properties": {"p": {"items": {"minimum": 1}}}})
    assert cost.units_of('{"p": ["' + digit * 300 + '"]}') == CEILING
    assert estimate({"properties": {"p": {"enum": ["a"]}}}).units_of('"' + digit * 300 + '"') < HERE


@pytest.mark.parametrize("keyword", ["required", "dependentRequired"])
def test_every_missing_name_is_a_fault_to_describe(keyword: str) -> None:
    names = [f"n{n}" for n in range(40_000)]
    part = {keyword: names if keyword == "required" else {"a": names}}
    assert estimate({"properties": {"p": part}}).visits_of('{"p": {"a": 1}}') > EXPLAINED
    assert estimate({"properties": {"p": {"required": names[:20]}}}).visits_of('{"p": {}}') < 20


def test_a_comma_that_is_written_as_an_escape_counts_too() -> None:
    cost = estimate(fan("anyOf", 8))
    inside = json.dumps({"p": json.dumps([1] * 2_000)}).replace(",", "\\u002c")
    assert cost.units_of(inside) >= cost.units_of(json.dumps({"p": [1] * 500}))


PLACE = {
    "type": "object",
    "properties": {"line": {"type": "integer", "minimum": 0}, "column": {"type": "integer"}},
    "required": ["line", "column"],
    "additionalProperties": False,
}
MCP = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "pattern": "^/[^ ]*$", "minLength": 1},
        "edits": {
            "type": "array",
            "items": {"anyOf": [{"$ref": "#/$defs/insert"}, {"$ref": "#/$defs/replace"}]},
        },
        "options": {"anyOf": [{"$ref": "#/$defs/options"}, {"type": "null"}], "default": None},
        "metadata": {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}},
        "filter": {"$ref": "#/$defs/filter"},
    },
    "required": ["path", "edits"],
    "$defs": {
        "place": PLACE,
        "insert": {"properties": {"at": {"$ref": "#/$defs/place"}, "text": {"type": "string"}}},
        "replace": {
            "properties": {
                "from": {"$ref": "#/$defs/place"},
                "to": {"$ref": "#/$defs/place"},
                "text": {"type": "string"},
            }
        },
        "options": {
            "type": "object",
            "properties": {"dry_run": {"type": "boolean"}, "mode": {"enum": ["a", "b", "c"]}},
            "unevaluatedProperties": False,
        },
        "json": {
            "anyOf": [
                {"type": ["string", "number", "boolean", "null"]},
                {"type": "array", "items": {"$ref": "#/$defs/json"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}},
            ]
        },
        "filter": {
            "oneOf": [
                {"properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}},
                {"properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}},
                {"properties": {"field": {"type": "string"}, "equals": {}}},
            ]
        },
    },
}
ARGUMENTS = {
    "path": "/src/main.py",
    "edits": [
        {"from": {"line": n, "column": 1}, "to": {"line": n, "column": 9}, "text": "x" * 200}
        for n in range(20)
    ],
    "options": {"dry_run": True, "mode": "a"},
}


def checked(schema: Any) -> SchemaCost:
    result = check_schema(schema, tool="f", strict=False, limits=SchemaLimits())
    assert result.validator is not None
    assert result.repairs == ()
    return result.cost


def test_a_schema_as_servers_of_tools_write_it_is_cheap() -> None:
    units = checked(MCP).units_of(json.dumps({**ARGUMENTS, "text": "y" * 20_000}))
    assert units < HERE


def agent_tool(**properties: Any) -> Any:
    """The parameters of a tool as agents write them: flat, with long descriptions."""
    for name, kind in properties.items():
        properties[name] = {**kind, "description": "What it is. " * 20}
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT, FLAG = {"type": "string"}, {"type": "boolean"}
AGENT_TOOLS = {
    "write_to_file": agent_tool(path=TEXT, content=TEXT),
    "execute_command": agent_tool(command=TEXT, ask_first=FLAG, seconds={"type": "integer"}),
    "read_files": agent_tool(paths={"type": "array", "items": TEXT}),
    "search": agent_tool(path=TEXT, regex=TEXT, mode={"type": "string", "enum": ["a", "b", "c"]}),
    "ask": agent_tool(question=TEXT, options={"type": "array", "items": TEXT, "maxItems": 5}),
    "todo": agent_tool(
        items={
            "type": "array",
            "items": agent_tool(text=TEXT, state={"enum": ["open", "done"]}, note=TEXT),
        }
    ),
}


@pytest.mark.parametrize("name", AGENT_TOOLS)
def test_the_tools_of_agents_are_cheap(name: str) -> None:
    cost = checked(AGENT_TOOLS[name])
    assert cost.units_of(json.dumps({"path": "a", "content": "x, y {z} [1]\n" * 2_000})) < HERE
    assert cost.visits_of(json.dumps({"items": [{"text": "x" * 30}] * 20})) < EXPLAINED


@pytest.mark.parametrize("keyword", [k for k in FANS if k not in ("properties", "items")])
@pytest.mark.parametrize("strict", [False, True])
def test_a_schema_beyond_all_reason_is_refused_with_its_place(keyword: str, strict: bool) -> None:
    schema = {**fan(keyword, 30), "required": ["p"], "additionalProperties": False}
    with pytest.raises(ToolSchemaError) as caught:
        check_schema(schema, tool="f", strict=strict, limits=SchemaLimits())
    if not strict:
        assert "In context=('" in caught.value.message
        assert f"more than {MOST_CHECKS} steps" in caught.value.message


def test_one_that_takes_long_to_compile_is_not_compiled_here() -> None:
    schema = fan("unevaluatedProperties", 4)
    result = check_schema(schema, tool="f", strict=False, limits=SchemaLimits())
    assert result.validator is None


@pytest.mark.parametrize("part", [{"enum": ["a", None]}, {"const": True}, {"enum": ["a", 1]}])
def test_digits_in_a_string_cost_nothing_unless_numbers_are_compared(part: dict[str, Any]) -> None:
    cost = estimate({"type": "object", "properties": {"a": part, "b": {"type": "string"}}})
    assert cost.numeric == (1 in part.get("enum", ()))
    units = cost.units_of(json.dumps({"b": "0" * 200}))
    assert (units > HERE) == cost.numeric


@given(text=st.text(st.sampled_from("0159eE+-.,u\\3 a"), max_size=60))
def test_the_shape_of_a_text_shows_every_unusual_number(text: str) -> None:
    """The fast search must find whatever the pattern finds."""
    assert _has_unusual_number(text) == bool(_UNUSUAL_NUMBER.search(text))


@pytest.mark.parametrize("number", ["12345678901234567", "1e10", "1E+99", "2e-30", "\\u0031"])
def test_an_unusual_number_is_seen_anywhere(number: str) -> None:
    for text in (number, f'{{"a": {number}}}', f"x{number}é"):
        assert _has_unusual_number(text)
    assert not _has_unusual_number('{"a": 1234567890123456, "b": "0e", "c": "\\u00e9"}')
