"""The table of parameters: each bound from both sides."""

from typing import Any

import pytest
from tests.asking import given
from tests.contract.wire import body, read, refusal

from toolwire.surfaces.chat.params import PARAM_TYPES

GOOD: dict[str, list[Any]] = {
    "audio": [{"voice": "alloy", "format": "wav"}],
    "frequency_penalty": [-2, 0, 1.5, 2],
    "logit_bias": [{}, {"50256": -100, "1": 0.5}],
    "logprobs": [True, False],
    "max_completion_tokens": [1, 10**9],
    "max_tokens": [1, 10**9],
    "metadata": [{}, {"a": "b"}],
    "modalities": [["text"], ["text", "audio"]],
    "n": [1, 128],
    "prediction": [{"type": "content", "content": "x"}],
    "presence_penalty": [-2, 2],
    "prompt_cache_key": ["k"],
    "prompt_cache_retention": ["24h"],
    "reasoning_effort": ["low", "xhigh", "none"],
    "response_format": [{"type": "json_object"}, {"type": "text"}],
    "safety_identifier": ["x"],
    "seed": [0, -1, 2**53],
    "service_tier": ["auto"],
    "stop": ["x", [], ["a"], list("abcd")],
    "store": [True],
    "temperature": [0, 0.7, 2],
    "top_logprobs": [0, 20],
    "top_p": [0, 0.5, 1],
    "user": ["me"],
    "verbosity": ["low"],
    "web_search_options": [{}],
}
BAD: dict[str, list[Any]] = {
    "audio": ["x", []],
    "frequency_penalty": [-2.1, 2.1, "0"],
    "logit_bias": [
        *([], {"a": "b"}, {"1": 101}, {"1": -100.5}, {str(at): 1 for at in range(1025)}),
        *({"Paris": 1}, {"": 1}, {"-1": 1}, {"1.5": 1}, {"\u00b2": 1}),
    ],
    "logprobs": [1, "true"],
    "max_completion_tokens": [0, -1, 1.5, "1"],
    "max_tokens": [0, -1, 1.5, True],
    "metadata": [{"a": 1}, {str(at): "" for at in range(17)}],
    "modalities": ["text", [1], ["smell"], ["text"] * 9],
    "n": [0, 129, 10**9, 1.5],
    "prediction": [[]],
    "presence_penalty": [3],
    "prompt_cache_key": [1],
    "prompt_cache_retention": [1],
    "reasoning_effort": [1, {}, "extreme", ""],
    "response_format": ["json"],
    "safety_identifier": [{}],
    "seed": [0.5, "1"],
    "service_tier": [1, "gold"],
    "stop": [1, list("abcde"), [1], {}],
    "store": ["yes"],
    "temperature": [-0.1, 2.1, "1", True],
    "top_logprobs": [-1, 21],
    "top_p": [-0.1, 1.1],
    "user": [1],
    "verbosity": [[], "chatty"],
    "web_search_options": [True],
}


def pairs(table: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    return [(name, value) for name, values in table.items() for value in values]


def test_every_parameter_of_the_table_is_tried_from_both_sides() -> None:
    assert set(GOOD) == set(BAD) == set(PARAM_TYPES)


@pytest.mark.parametrize(("name", "value"), pairs(GOOD))
def test_a_value_within_bounds_is_kept_as_it_was_sent(name: str, value: Any) -> None:
    beside = {"logprobs": True} if name == "top_logprobs" else {}
    request = read(body(**{name: value}, **beside)).request
    expected = [value] if name == "stop" and isinstance(value, str) else value
    assert given(request) == ({name: expected, **beside} if expected != [] else beside)
    assert request.ignored == ()


@pytest.mark.parametrize(("name", "value"), pairs(BAD))
def test_any_other_is_refused_by_name(name: str, value: Any) -> None:
    param = refusal(body(**{name: value})).param
    assert param is not None
    assert param.split("[")[0] == name


@pytest.mark.parametrize("schema", ["x", ["x"], 1])
def test_the_form_of_an_answer_is_an_object(schema: Any) -> None:
    form = {"type": "json_schema", "json_schema": schema}
    assert refusal(body(response_format=form)).param == "response_format.json_schema"


@pytest.mark.parametrize("name", PARAM_TYPES)
def test_null_is_as_if_it_was_not_sent(name: str) -> None:
    assert given(read(body(**{name: None})).request) == {}


FORMATS: list[tuple[Any, str]] = [
    ({}, "response_format.type"),
    ({"type": None}, "response_format.type"),
    ({"type": "yaml"}, "response_format.type"),
    ({"type": "json_schema"}, "response_format.json_schema"),
    ({"type": "json_schema", "json_schema": {}}, "response_format.json_schema.schema"),
    ({"type": "json_schema", "json_schema": {"schema": 5}}, "response_format.json_schema.schema"),
    (
        {"type": "json_schema", "json_schema": {"schema": {"type": "objet"}}},
        "response_format.json_schema.schema",
    ),
    (
        {"type": "json_schema", "json_schema": {"schema": {"$schema": "no such draft"}}},
        "response_format.json_schema.schema",
    ),
    (
        {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
        "response_format.json_schema.name",
    ),
    *(
        (
            {"type": "json_schema", "json_schema": {"name": name, "schema": {"type": "object"}}},
            "response_format.json_schema.name",
        )
        for name in (None, 5, "", "a b", "\u00e9", "n" * 65)
    ),
    (
        {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": "yes"}},
        "response_format.json_schema.strict",
    ),
]


@pytest.mark.parametrize(("form", "param"), FORMATS)
def test_a_form_that_means_nothing_is_refused(form: Any, param: str) -> None:
    assert refusal(body(response_format=form)).param == param


A = {"type": "string"}
UNSTRICT: list[tuple[Any, str]] = [
    ({"type": "object", "properties": {"a": A}, "required": ["a"]}, "'additionalProperties' is"),
    (
        {"type": "object", "properties": {"a": A}, "additionalProperties": False},
        "'required' is required to be supplied and to be an array including every key",
    ),
    (
        {
            "type": "object",
            "properties": {"a": {"type": "object", "properties": {}}},
            "required": ["a"],
            "additionalProperties": False,
        },
        "In context=('properties', 'a'), 'additionalProperties' is required",
    ),
    ({"type": "array", "items": A}, "must have type 'object'"),
]


@pytest.mark.parametrize(("schema", "why"), UNSTRICT)
def test_a_strict_form_follows_the_strict_rules(schema: Any, why: str) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    error = refusal(body(response_format=form))
    assert (error.param, error.code) == ("response_format.json_schema.schema", "invalid_value")
    assert error.message.startswith("Invalid schema for response_format: ")
    assert why in error.message
    del form["json_schema"]["strict"]
    assert read(body(response_format=form))


def test_a_strict_form_may_be_as_deep_as_openai_allows() -> None:
    schema: Any = A
    for _ in range(9):
        inner = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
        schema = {**inner, "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, "strict": True}}
    assert read(body(response_format=form))


@pytest.mark.parametrize(
    "form",
    [
        {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}},
        {"type": "json_schema", "schema": {"type": "object"}},
        {"type": "json_object", "schema": {"type": "object"}},
        {"type": "structural_tag", "structures": []},
    ],
)
def test_a_form_that_a_server_knows_is_kept(form: Any) -> None:
    assert given(read(body(response_format=form)).request) == {"response_format": form}


@pytest.mark.parametrize("beside", [{}, {"logprobs": False}, {"logprobs": None}])
def test_alternatives_to_tokens_need_the_tokens(beside: Any) -> None:
    assert refusal(body(top_logprobs=3, **beside)).param == "top_logprobs"
    assert read(body(top_logprobs=0, **beside))


def test_the_words_that_are_supported_are_said() -> None:
    message = refusal(body(verbosity="chatty")).message
    assert message == "Invalid value: 'chatty'. Supported values are: 'low', 'medium', and 'high'."
