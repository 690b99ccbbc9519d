"""Conversations: results, errors, and twenty calls one after the other."""

import json
from typing import Any

import openai
import pytest
from tests.e2e.embedded.tools import PARIS, PLAIN, WEATHER, result, said, tool

READ = tool("read_page", "Read a page of the book.", {"page": {"type": "integer", "maximum": 99}})
DONE = {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
CALLED: Any = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", **DONE}]}


def test_a_result_is_answered_and_not_asked_for_again(client: openai.OpenAI) -> None:
    called = client.chat.completions.create(messages=[PARIS], tools=[WEATHER], **PLAIN)
    (call,) = called.choices[0].message.tool_calls or []
    messages: Any = [PARIS, called.choices[0].message, result(call.id, "21 degrees and sunny")]
    answer = client.chat.completions.create(messages=messages, tools=[WEATHER], **PLAIN)
    assert answer.choices[0].message.tool_calls is None
    assert "21" in (answer.choices[0].message.content or "")


@pytest.mark.parametrize("stream", [False, True])
def test_results_and_errors_of_earlier_calls_are_part_of_the_conversation(
    client: openai.OpenAI, stream: bool
) -> None:
    counts = []
    for told in ("21 degrees and sunny", "Error: there is no such city, try another name"):
        options: Any = {"stream_options": {"include_usage": True}} if stream else {}
        answer: Any = client.chat.completions.create(
            messages=[PARIS, CALLED, result("call_1", told)],
            tools=[WEATHER],
            tool_choice="none",
            stream=stream,
            **{**PLAIN, "max_tokens": 8},
            **options,
        )
        usage = list(answer)[-1].usage if stream else answer.usage
        counts.append(usage.prompt_tokens)
    assert counts[1] > counts[0] > 50


def test_after_an_error_it_can_be_made_to_call_again(client: openai.OpenAI) -> None:
    told = result("call_1", "Error: the service is down, try again")
    answer = client.chat.completions.create(
        messages=[PARIS, CALLED, told], tools=[WEATHER], tool_choice="required", **PLAIN
    )
    (call,) = answer.choices[0].message.tool_calls or []
    assert call.function.name == "get_weather"
    assert call.id != "call_1"


@pytest.mark.timeout(600)  # twenty turns of a real model: minutes on a busy machine
def test_twenty_calls_one_after_the_other_in_one_conversation(client: openai.OpenAI) -> None:
    messages: list[Any] = [said("Read the book page by page, beginning with page 1.")]
    for number in range(1, 21):
        answer = client.chat.completions.create(
            messages=messages, tools=[READ], tool_choice="required", **PLAIN
        )
        message = answer.choices[0].message
        (call,) = message.tool_calls or []
        assert 0 <= abs(json.loads(call.function.arguments)["page"]) < 10**15
        assert answer.choices[0].finish_reason == "tool_calls"
        messages += [message, result(call.id, f"This was page {number}.")]
    ids = [message.tool_calls[0].id for message in messages[1::2]]
    assert len(set(ids)) == 20
