"""The rules: what each rule mends, what it leaves alone, and what is never done."""

import json
import time
from typing import Any

import pytest
from tests.unit.gateway.fitting import toolset

from toolwire.gateway.repair.costly import elsewhere
from toolwire.gateway.repair.rules import RULE_NAMES, CheckedCall, RepairRules

RULES = RepairRules()
STRING = {"type": "string"}
INTEGER = {"type": "integer"}
BOOLEAN = {"type": "boolean"}
OBJECT = {"type": "object", "properties": {"n": INTEGER}}
STRINGS = {"type": "array", "items": STRING}


def fit(text: str, schema: Any = None, *, rules: RepairRules = RULES, **more: Any) -> CheckedCall:
    """What the rules makes of the arguments of a tool whose property `x` has this schema."""
    return rules.repair(0, "f", text, toolset(x=schema or {}, **more), elsewhere())


def argument(value: Any) -> str:
    return json.dumps({"x": value})


@pytest.mark.parametrize("text", ['{"x": 1}', ' {"x":1.50}\n', '{ "y" : [ ] }', "{}"])
def test_arguments_that_fit_are_delivered_byte_for_byte(text: str) -> None:
    assert fit(text) == CheckedCall(text)


MENDED = [
    ("empty_arguments", "", {}, {}),
    ("empty_arguments", " null ", {}, {}),
    ("empty_arguments", '""', {}, {}),
    ("string_arguments", json.dumps('{"x": 1}'), {}, {"x": 1}),
    ("lenient_json", '{"x": [1, 2,],}', {}, {"x": [1, 2]}),
    ("lenient_json", "{'x': 'it\\'s \"so\"'}", {}, {"x": 'it\'s "so"'}),
    ("lenient_json", '{"x": "it\\\'s \\\\"}', {}, {"x": "it's \\"}),
    ("lenient_json", "{x: True, y: None}", {}, {"x": True, "y": None}),
    ("lenient_json", '{"x": "a\n\tb"}', {}, {"x": "a\n\tb"}),
    ("nested_json", argument('{"n": 1}'), OBJECT, {"x": {"n": 1}}),
    ("nested_json", argument('["a"]'), STRINGS, {"x": ["a"]}),
    ("number_from_string", argument("5"), INTEGER, {"x": 5}),
    ("number_from_string", argument(" -1.5e3 "), {"type": "number"}, {"x": -1500.0}),
    ("number_from_string", argument("5"), {"type": ["integer", "null"]}, {"x": 5}),
    ("boolean_from_string", argument("true"), BOOLEAN, {"x": True}),
    ("boolean_from_string", argument("False"), BOOLEAN, {"x": False}),
    ("wrap_in_array", argument("a"), STRINGS, {"x": ["a"]}),
    ("wrap_in_array", argument({"n": 1}), {"type": "array", "items": OBJECT}, {"x": [{"n": 1}]}),
]


@pytest.mark.parametrize(("rule", "text", "schema", "expected"), MENDED)
def test_a_rule_mends_what_it_is_for_and_says_so(
    rule: str, text: str, schema: Any, expected: Any
) -> None:
    fitted = fit(text, schema)
    assert json.loads(fitted.arguments) == expected
    assert fitted.repairs == (rule,)
    assert fitted.finding is None


@pytest.mark.parametrize(("rule", "text", "schema", "expected"), MENDED)
def test_a_rule_that_is_off_mends_nothing(rule: str, text: str, schema: Any, expected: Any) -> None:
    fitted = fit(text, schema, rules=RULES.without([rule]))
    assert fitted.arguments == text
    assert fitted.repairs == ()
    assert fitted.finding is not None


def test_every_rule_has_an_example_here() -> None:
    assert {rule for rule, *_ in MENDED} == set(RULE_NAMES)


LEFT_ALONE = [
    # Cut off: never completed.
    ('{"x": "a', STRING),
    ('{"x": 1', INTEGER),
    ('{"x": [1, 2', {}),
    ("{'x': 'a", STRING),
    (json.dumps('{"x": 1'), INTEGER),
    # Decoded once, not as often as it takes.
    (json.dumps(json.dumps('{"x": 1}')), INTEGER),
    # No reading, or more than one.
    ('{"x": undefined}', {}),
    ('{"x": NaN}', {}),
    ('{"x": "C:\\dir"}', STRING),
    ('{"x": "say "hi" to me"}', STRING),
    ('{"x": 1 2}', {}),
    ('{"x": 1, "x": 2}', {}),
    ('{"x": 1} {"x": 2}', {}),
    ('[{"x": 1}]', {}),
    ('"hello"', {}),
    # The schema allows something else as well, or the text is not the thing.
    (argument("5"), BOOLEAN),
    (argument("five"), INTEGER),
    (argument("0x10"), INTEGER),
    (argument("05"), INTEGER),
    (argument("1e999"), {"type": "number"}),
    (argument("5"), {"type": ["integer", "boolean"]}),
    (argument("yes"), BOOLEAN),
    (argument(1), BOOLEAN),
    (argument(5), STRING),
    (argument("[1"), STRINGS),
    (argument('{"n": 1}, "y": 2'), OBJECT),
    (argument('{"n": 1}'), STRINGS | {"items": INTEGER}),
    (argument(5), STRINGS),
    (argument(None), STRINGS),
]


@pytest.mark.parametrize(("text", "schema"), LEFT_ALONE)
def test_what_has_no_safe_repair_is_delivered_as_it_is_and_found(text: str, schema: Any) -> None:
    fitted = fit(text, schema)
    assert fitted.arguments == text
    assert fitted.repairs == ()
    assert fitted.finding is not None


@pytest.mark.parametrize("schema", [STRING, {"type": ["string", "array"]}, {}])
def test_a_string_stays_a_string_where_the_schema_allows_one(schema: Any) -> None:
    for value in ("5", "true", '["a"]', '{"n": 1}', "null"):
        assert fit(argument(value), schema) == CheckedCall(argument(value))


def test_types_are_seen_through_references_and_combinators() -> None:
    schema = {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}
    fitted = fit(argument("7"), schema, _defs={"N": {"type": "integer"}})
    assert json.loads(fitted.arguments) == {"x": 7}


def test_values_deep_inside_are_mended_too() -> None:
    schema = {"type": "array", "items": OBJECT}
    fitted = fit(argument('[{"n": "1"}, {"n": 2}]'), schema)
    assert json.loads(fitted.arguments) == {"x": [{"n": 1}, {"n": 2}]}
    assert fitted.repairs == ("nested_json", "number_from_string")


def test_a_repair_that_does_not_make_the_call_fit_is_not_kept() -> None:
    fitted = fit(argument("5"), INTEGER, y=STRING, _required=["y"])
    assert fitted.arguments == argument("5")
    assert fitted.repairs == ()


def test_json_that_does_not_fit_is_better_than_text_that_is_not_json() -> None:
    fitted = fit("{'x': 'a',}", INTEGER)
    assert json.loads(fitted.arguments) == {"x": "a"}
    assert fitted.repairs == ("lenient_json",)
    assert fitted.finding is not None
    assert fitted.finding.code == "invalid_tool_arguments"


def test_extra_fields_are_never_dropped() -> None:
    text = '{"x": 1, "more": true}'
    assert fit(text, INTEGER, _closed=True).arguments == text


def test_rules_work_together_in_one_call() -> None:
    fitted = fit(json.dumps("{'x': '5',}"), INTEGER)
    assert json.loads(fitted.arguments) == {"x": 5}
    assert fitted.repairs == ("string_arguments", "lenient_json", "number_from_string")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "malformed_tool_arguments"),
        ("[]", "malformed_tool_arguments"),
        ('{"x": "a"}', "invalid_tool_arguments"),
    ],
)
def test_a_finding_has_the_code_of_what_is_wrong(text: str, code: str) -> None:
    finding = fit(text, INTEGER).finding
    assert finding is not None
    assert finding.code == code


def test_a_call_of_an_unknown_tool_names_those_there_are() -> None:
    finding = RULES.repair(0, "g", "{}", toolset(x=STRING), elsewhere()).finding
    assert finding is not None
    assert (finding.code, finding.tool) == ("unknown_tool_call", "g")
    assert "The tools are: f." in finding.message


def test_a_finding_says_where_and_what_and_stays_short() -> None:
    finding = fit(argument("x" * 10_000), INTEGER).finding
    assert finding is not None
    assert finding.message.startswith("at 'x': ")
    assert finding.message.endswith('is not of type "integer".')
    assert len(finding.message) < 400


@pytest.mark.timed
@pytest.mark.parametrize(
    "text",
    [
        "{'x': [" + "1," * 50_000 + "]}",
        '{"x":' * 5000 + "1" + "}" * 5000,
        "[" * 100_000,
        "{" + "'a':" * 100_000,
        '{"x": [' + ",".join(['"1"'] * 50_000) + "]}",
    ],
)
def test_huge_and_deep_arguments_are_found_without_delay(text: str) -> None:
    began = time.process_time()
    fitted = fit(text, {"type": "array", "items": INTEGER})
    assert time.process_time() - began < 2
    assert fitted.arguments == text
    assert fitted.finding is not None


def test_a_schema_that_refers_to_itself_is_followed_only_so_far() -> None:
    schema = {"$ref": "#"}
    deep: Any = {"n": "1"}
    for _ in range(100):
        deep = {"x": deep}
    text = json.dumps(deep)
    assert fit(text, schema, n=INTEGER).arguments == text
