"""Tool calls on the default model. It is very small: what must hold, holds because its writing is
constrained, not because it is clever."""

import json
from typing import Any

import openai
import pytest
from tests.e2e.embedded.tools import PARIS, PLAIN, STRING, TIME, WEATHER, named, said, tool
from tests.e2e.gateway.process import Gateway

PERSON = {
    "type": "object",
    "properties": {"name": STRING, "age": {"type": "integer"}},
    "required": ["name", "age"],
    "additionalProperties": False,
}
ORDER = tool(
    "order",
    "Order things for somebody.",
    {"customer": {"$ref": "#/$defs/person"}, "size": {"enum": ["small", "large"]}},
    strict=True,
    parameters={"$defs": {"person": PERSON}},
)


def calls_of(answer: Any) -> list[tuple[str, Any]]:
    calls = answer.choices[0].message.tool_calls or []
    return [(call.function.name, json.loads(call.function.arguments)) for call in calls]


@pytest.mark.parametrize("choice", ["required", named(WEATHER)])
def test_a_demanded_call_is_always_made(client: openai.OpenAI, choice: Any) -> None:
    answer = client.chat.completions.create(
        messages=[PARIS], tools=[WEATHER, ORDER], tool_choice=choice, **PLAIN
    )
    assert calls_of(answer) == [("get_weather", {"city": "Paris"})]
    assert answer.choices[0].finish_reason == "tool_calls"


def test_a_strict_call_is_made_even_where_it_makes_no_sense(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        messages=[PARIS], tools=[WEATHER, ORDER], tool_choice=named(ORDER), **PLAIN
    )
    ((name, arguments),) = calls_of(answer)
    assert name == "order"
    assert isinstance(arguments["customer"]["age"], int)
    assert set(arguments["customer"]) == {"name", "age"}
    assert arguments["size"] in ("small", "large")


def test_only_allowed_tools_are_called(without_examples: openai.OpenAI) -> None:
    chosen: Any = {"mode": "required", "tools": [named(TIME)]}
    answer = without_examples.chat.completions.create(
        messages=[PARIS],
        tools=[WEATHER, TIME],
        tool_choice={"type": "allowed_tools", "allowed_tools": chosen},
        **PLAIN,
    )
    assert [name for name, _ in calls_of(answer)] == ["get_time"]


def test_a_streamed_call_is_the_whole_call(without_examples: openai.OpenAI) -> None:
    options = {**PLAIN, "messages": [PARIS], "tools": [WEATHER, TIME], "tool_choice": "required"}
    whole = without_examples.chat.completions.create(**options)
    (call,) = whole.choices[0].message.tool_calls or []
    live = {"toolwire-profile": "live"}
    stream = without_examples.chat.completions.create(stream=True, extra_headers=live, **options)
    pieces = [
        delta
        for chunk in stream
        if chunk.choices
        for delta in chunk.choices[0].delta.tool_calls or []
    ]
    assert pieces[0].function is not None
    assert pieces[0].function.name == call.function.name
    joined = "".join((piece.function and piece.function.arguments) or "" for piece in pieces)
    assert joined == call.function.arguments
    assert len(pieces) > 3


def test_left_to_itself_it_calls_for_the_weather_and_not_for_an_explanation(
    client: openai.OpenAI,
) -> None:
    weather, loop = said("Tell me the current weather in Madrid."), said("Why is the sky blue?")
    made = [
        calls_of(client.chat.completions.create(messages=[message], tools=[WEATHER], **PLAIN))
        for message in (weather, loop)
    ]
    assert made == [[("get_weather", {"city": "Madrid"})], []]


def test_without_leave_to_call_it_answers_in_text(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        messages=[PARIS], tools=[WEATHER], tool_choice="none", **{**PLAIN, "max_tokens": 8}
    )
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].message.content


@pytest.mark.parametrize("parallel", [True, False])
def test_it_makes_one_call_at_a_time_and_never_the_same_twice(
    without_examples: openai.OpenAI, parallel: bool
) -> None:
    # Where several are allowed, a model this small repeats itself until it is stopped.
    answer = without_examples.chat.completions.create(
        messages=[PARIS],
        tools=[WEATHER, TIME],
        tool_choice="required",
        parallel_tool_calls=parallel,
        **PLAIN,
    )
    assert calls_of(answer) == [("get_weather", {"city": "Paris"})]


def test_several_calls_are_made_by_a_model_that_has_no_such_habit(served_file: Gateway) -> None:
    client: Any = openai.OpenAI(base_url=served_file.url, api_key="none", max_retries=0)
    answer = client.chat.completions.create(
        messages=[said("What is the weather in Rome, and what is the time in Rome?")],
        tools=[WEATHER, TIME],
        tool_choice="required",
        **{**PLAIN, "max_tokens": 200},
    )
    ids = {call.id for call in answer.choices[0].message.tool_calls}
    assert len(ids) == len(answer.choices[0].message.tool_calls) >= 2
