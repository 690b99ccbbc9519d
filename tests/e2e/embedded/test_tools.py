"""Tool calls on the default model. It is very small: what must hold, holds because its writing is
constrained, not because it is clever."""

import json
from typing import Any

import openai
import pytest

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the current weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
ORDER: Any = {
    "type": "function",
    "function": {
        "name": "order",
        "description": "Order things for somebody.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {
                "customer": {"$ref": "#/$defs/person"},
                "size": {"enum": ["small", "large"]},
            },
            "required": ["customer", "size"],
            "additionalProperties": False,
            "$defs": {
                "person": {
                    "type": "object",
                    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
                    "required": ["name", "age"],
                    "additionalProperties": False,
                }
            },
        },
    },
}
PARIS: Any = {"role": "user", "content": "What is the weather in Paris?"}
PLAIN: Any = {"model": "m", "temperature": 0, "max_tokens": 80, "parallel_tool_calls": False}


def named(tool: Any) -> Any:
    return {"type": "function", "function": {"name": tool["function"]["name"]}}


@pytest.mark.parametrize("choice", ["required", named(WEATHER)])
def test_a_demanded_call_is_always_made(client: openai.OpenAI, choice: Any) -> None:
    answer = client.chat.completions.create(
        messages=[PARIS], tools=[WEATHER, ORDER], tool_choice=choice, **PLAIN
    )
    (call,) = answer.choices[0].message.tool_calls or []
    assert call.function.name == "get_weather"
    assert "Paris" in json.loads(call.function.arguments)["city"]
    assert answer.choices[0].finish_reason == "tool_calls"


def test_a_named_call_is_made_even_where_it_makes_no_sense(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        messages=[PARIS], tools=[WEATHER, ORDER], tool_choice=named(ORDER), **PLAIN
    )
    (call,) = answer.choices[0].message.tool_calls or []
    arguments = json.loads(call.function.arguments)
    assert call.function.name == "order"
    assert isinstance(arguments["customer"]["age"], int)
    assert set(arguments["customer"]) == {"name", "age"}
    assert arguments["size"] in ("small", "large")


def test_a_streamed_call_is_the_whole_call(client: openai.OpenAI) -> None:
    options = {**PLAIN, "messages": [PARIS], "tools": [WEATHER], "tool_choice": "required"}
    whole = client.chat.completions.create(**options)
    (call,) = whole.choices[0].message.tool_calls or []
    stream = client.chat.completions.create(stream=True, **options)
    pieces = [
        delta
        for chunk in stream
        if chunk.choices
        for delta in chunk.choices[0].delta.tool_calls or []
    ]
    assert pieces[0].function is not None
    assert pieces[0].function.name == call.function.name
    joined = "".join((piece.function and piece.function.arguments) or "" for piece in pieces)
    assert json.loads(joined) == json.loads(call.function.arguments)


def test_left_to_itself_it_calls_for_the_weather_and_not_for_a_greeting(
    client: openai.OpenAI,
) -> None:
    hello: Any = {"role": "user", "content": "Explain what a for loop is."}
    calls = [
        client.chat.completions.create(messages=[said], tools=[WEATHER], **PLAIN)
        .choices[0]
        .message.tool_calls
        for said in ({"role": "user", "content": "Tell me the current weather in Madrid."}, hello)
    ]
    assert calls[0] is not None
    assert "Madrid" in calls[0][0].function.arguments
    assert calls[1] is None


def test_without_leave_to_call_it_answers_in_text(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model="m", messages=[PARIS], tools=[WEATHER], tool_choice="none", max_tokens=8
    )
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].message.content


def test_a_result_is_answered_and_not_asked_for_again(client: openai.OpenAI) -> None:
    called = client.chat.completions.create(messages=[PARIS], tools=[WEATHER], **PLAIN)
    (call,) = called.choices[0].message.tool_calls or []
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": "21 degrees and sunny"}
    messages: Any = [PARIS, called.choices[0].message, result]
    answer = client.chat.completions.create(messages=messages, tools=[WEATHER], **PLAIN)
    assert answer.choices[0].message.tool_calls is None
    assert answer.choices[0].message.content


def test_results_and_errors_of_earlier_calls_are_part_of_the_conversation(
    client: openai.OpenAI,
) -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
    }
    history: Any = [PARIS, {"role": "assistant", "content": None, "tool_calls": [call]}]
    counts = []
    for result in ("21 degrees and sunny", "Error: there is no such city, try another name"):
        messages = [*history, {"role": "tool", "tool_call_id": "call_1", "content": result}]
        answer = client.chat.completions.create(
            model="m", messages=messages, tools=[WEATHER], tool_choice="none", max_tokens=8
        )
        assert answer.choices[0].message.content
        assert answer.usage is not None
        counts.append(answer.usage.prompt_tokens)
    assert counts[1] > counts[0] > 50
