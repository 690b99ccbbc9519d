"""Every call fits its schema, however it is nested, and every call ends."""

import json
import re
import time
from typing import Any

import jsonschema_rs
import openai
import pytest
from tests.e2e.embedded.tools import PLAIN, STRING, named, said, tool

INTEGER = {"type": "integer"}
LINE = {
    "type": "object",
    "properties": {"product": STRING, "quantity": {"type": "integer", "minimum": 1}},
    "required": ["product", "quantity"],
}
CHAIN = {
    "type": "object",
    "properties": {"link": {"enum": ["a", "b"]}, "next": {"$ref": "#/$defs/chain"}},
    "required": ["link"],
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "objects in an array": {"lines": {"type": "array", "items": LINE, "minItems": 2}},
    "enums in an array": {"days": {"type": "array", "items": {"enum": ["Mon", "Tue", 3, None]}}},
    "a choice of types": {"when": {"anyOf": [{"type": "string", "format": "date"}, INTEGER]}},
    "one of two objects": {"to": {"oneOf": [LINE, {"type": "object", "required": ["all"],
                                                   "properties": {"all": {"const": True}}}]}},
    "objects in objects": {"a": {"type": "object", "required": ["b"], "properties": {
        "b": {"type": "object", "required": ["c"], "properties": {"c": {"enum": ["deep"]}}}}}},
    "composed": {"a": {"allOf": [LINE, {"type": "object", "required": ["note"],
                                        "properties": {"note": STRING}}]}},
    "a pattern and a range": {"id": {"type": "string", "pattern": "^[A-C]{2}-[0-9]{3}$"},
                              "share": {"type": "number", "minimum": 0, "maximum": 1}},
    "a tuple": {"at": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}],
                       "items": False, "minItems": 2}},
    "free form": {"anything": {"type": "object"}},
}  # fmt: skip


TEXTS = {"free form": "Save my name, which is Ada."}
"""Of the things for Monday the model makes an object that has one key twice."""
TOOLS = [
    tool(f"save_{number}", "Save what was said.", properties)
    for number, properties in enumerate(SCHEMAS.values())
]


@pytest.fixture
def client(without_examples: openai.OpenAI) -> openai.OpenAI:
    return without_examples


def answer_of(client: openai.OpenAI, text: str, *offered: Any, **params: Any) -> Any:
    options = {**PLAIN, "max_tokens": 300, "tool_choice": "required", **params}
    return client.chat.completions.create(messages=[said(text)], tools=offered, **options)


def call_of(client: openai.OpenAI, text: str, *offered: Any, **params: Any) -> Any:
    (call,) = answer_of(client, text, *offered, **params).choices[0].message.tool_calls
    return json.loads(call.function.arguments)


@pytest.mark.parametrize(("name", "wanted"), list(zip(SCHEMAS, TOOLS, strict=True)))
def test_a_call_fits_its_schema(client: openai.OpenAI, name: str, wanted: Any) -> None:
    text = TEXTS.get(name, "Save 3 pens and 2 cups for Monday.")
    arguments = call_of(client, text, *TOOLS, tool_choice=named(wanted))
    jsonschema_rs.validate(wanted["function"]["parameters"], arguments)
    assert set(arguments) >= set(SCHEMAS[name])


def test_a_schema_that_refers_to_itself_is_kept_to_as_far_as_it_comes(
    client: openai.OpenAI,
) -> None:
    more = {"$defs": {"chain": CHAIN}}
    offered = tool("forge", "Forge a chain.", {"chain": CHAIN}, parameters=more)
    stream = answer_of(client, "Forge a chain.", offered, stream=True, max_tokens=40)
    deltas = [chunk.choices[0].delta.tool_calls for chunk in stream if chunk.choices]
    written = "".join(d[0].function.arguments or "" for d in deltas if d and d[0].function)
    assert re.match(r'\{"chain": \{"link": "[ab]"(\}\}|, "next": \{"link": "[ab]")', written)


def test_a_string_without_a_limit_has_an_end_without_one_from_the_client(
    client: openai.OpenAI,
) -> None:
    # Greedily, the model repeats these digits until its context is full.
    calculate = tool("calculate", "Calculate an arithmetic expression.", {"expression": STRING})
    arguments = call_of(client, "Calculate 144 / 12.", calculate, max_tokens=openai.NOT_GIVEN)
    assert 0 < len(arguments["expression"]) <= 500


IMPOSSIBLE = {
    "no string is so long and so short": {"type": "string", "minLength": 5, "maxLength": 3},
    "no array is so long": {"type": "array", "minItems": 1_000_000_000},
    "no number lies between": {"type": "integer", "minimum": 5, "maximum": 3},
    "nothing is allowed": {"enum": []},
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_nothing_fits_is_refused_at_once(client: openai.OpenAI, name: str) -> None:
    offered = tool("save", "Save.", {"value": IMPOSSIBLE[name]})
    started = time.monotonic()
    with pytest.raises(openai.BadRequestError):
        call_of(client, "Save it.", offered)
    assert time.monotonic() - started < 10


def test_a_schema_that_cannot_be_held_to_does_not_undo_the_others(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError):
        call_of(client, "Save it.", tool("save", "Save.", {"value": {"enum": []}}))
    assert call_of(client, "Save it.", tool("save", "Save.", {"value": {"const": 7}})) == {
        "value": 7
    }


def test_what_no_grammar_says_is_checked_on_the_answer(client: openai.OpenAI) -> None:
    odd = {"type": "string", "not": {"const": "a"}, "pattern": "^(?!x)"}
    arguments = call_of(client, "Save the word tree.", tool("save", "Save a word.", {"word": odd}))
    assert isinstance(arguments["word"], str)


def test_an_array_of_any_length_is_no_danger(client: openai.OpenAI) -> None:
    endless = {"type": "array", "items": INTEGER, "maxItems": 1_000_000_000}
    started = time.monotonic()
    offered = tool("count", "Count.", {"numbers": endless})
    answer_of(client, "Count to three.", offered, max_tokens=20)
    assert time.monotonic() - started < 15


def test_a_form_that_the_client_wants_for_text_is_kept_to(client: openai.OpenAI) -> None:
    schema = {**LINE, "additionalProperties": False}
    form: Any = {"type": "json_schema", "json_schema": {"name": "line", "schema": schema}}
    answer = client.chat.completions.create(
        messages=[said("I want 3 pens.")], response_format=form, **PLAIN
    )
    jsonschema_rs.validate(schema, json.loads(answer.choices[0].message.content or ""))


def test_a_schema_that_is_too_complex_is_refused_and_one_that_is_not_is_kept_to(
    client: openai.OpenAI,
) -> None:
    def ask(schema: Any) -> Any:
        form: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        return client.chat.completions.create(
            messages=[said("I want 3 pens.")], response_format=form, **{**PLAIN, "max_tokens": 30}
        )

    def optional(count: int, name: str = "p") -> Any:
        return {"type": "object", "properties": {f"{name}{i}": STRING for i in range(count)}}

    for complex_one in (optional(520), {"anyOf": [optional(20, f"p{i}_") for i in range(300)]}):
        with pytest.raises(openai.BadRequestError, match=r"optional|too complex"):
            ask(complex_one)
    assert ask(optional(400)).choices[0].message.content.startswith('{"p')


def test_a_prompt_of_megabytes_is_refused_before_it_is_read(client: openai.OpenAI) -> None:
    started = time.monotonic()
    with pytest.raises(openai.BadRequestError, match="maximum context length"):
        client.chat.completions.create(messages=[said("x" * 9_000_000)], **PLAIN)
    assert time.monotonic() - started < 4
