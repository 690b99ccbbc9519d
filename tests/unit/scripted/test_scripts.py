"""The scripts say what they are meant to say, from the request alone."""

import json
from typing import Any

import pytest
from tests.scripted.answer import Answer, Call, Usage
from tests.scripted.request import ChatRequest
from tests.scripted.scripts import load_script

USER = {"role": "user", "content": "Hello"}
COUNT_TOOL = {
    "type": "function",
    "function": {
        "name": "count",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        },
    },
}


def assistant(*calls: Call) -> dict[str, Any]:
    entries = [
        {
            "id": "x",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in calls
    ]
    return {"role": "assistant", "content": None, "tool_calls": entries}


def say(script: Any, *messages: dict[str, Any], **body: Any) -> Answer:
    return load_script(script)(ChatRequest({"messages": list(messages), **body}))


def test_echo_says_what_the_user_said_last() -> None:
    parts = {"role": "user", "content": [{"type": "text", "text": "in"}, {"text": "parts"}]}
    assert say("echo", USER, {"role": "assistant", "content": "x"}).text == "Hello"
    assert say("echo", USER, parts).text == "in\nparts"
    assert say("echo").text == ""


def test_turns_are_said_in_order_and_the_last_one_again() -> None:
    turns = ["one", "two"]
    said = {"role": "assistant", "content": "x"}
    assert [say(turns, USER, *[said] * count).text for count in range(4)] == [
        "one",
        "two",
        "two",
        "two",
    ]


def test_a_turn_can_hold_everything_a_model_says() -> None:
    turn = {
        "text": "t",
        "reasoning": "r",
        "calls": [["f", {"a": 1}], ["g", "{broken", "id_7"], {"name": "h"}],
        "finish": "length",
        "usage": [3, 4],
    }
    assert say({"turns": [turn]}, USER) == Answer(
        "t",
        "r",
        (Call("f", {"a": 1}), Call("g", "{broken", "id_7"), Call("h", {})),
        "length",
        Usage(3, 4),
    )


def test_many_makes_so_many_calls_one_per_turn_and_then_stops() -> None:
    messages, calls = [USER], []
    while (answer := say("many:20", *messages, tools=[COUNT_TOOL])).calls:
        calls += answer.calls
        messages += [assistant(*answer.calls), {"role": "tool", "content": "ok"}]
    assert [call.args for call in calls] == [{"number": number} for number in range(20)]
    assert answer.text == "done after 20 calls"


def test_a_script_may_be_a_function() -> None:
    assert say(lambda request: Answer(text=request.model), USER, model="m").text == "m"


def test_an_unknown_script_is_refused_by_name() -> None:
    with pytest.raises(LookupError, match="no script is called 'nope'"):
        load_script("nope")


def test_calls_of_the_history_that_cannot_be_read_are_passed_over() -> None:
    broken: Any = {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}, 5, {}]}
    messages = [broken, assistant(Call("g", "{oops"), Call("h", {"a": 1}))]
    assert list(ChatRequest({"messages": messages}).calls()) == [("h", {"a": 1})]


@pytest.mark.parametrize("body", [{}, {"messages": None, "tools": "x", "stream_options": []}])
def test_a_request_of_any_shape_is_answered(body: dict[str, Any]) -> None:
    assert json.dumps(body)
    assert load_script("file_task")(ChatRequest(body)).text == "Hello file task"
