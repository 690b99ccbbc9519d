"""Examples for weak models: of tools the client does not have, and written as its own calls are."""

import json
from typing import Any

import pytest

from toolwire.formats import extract, names, provider_id
from toolwire.gateway.strategies.examples import MOST_EXAMPLES, examples_for
from toolwire.gateway.strategies.prompting import prompted
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import FREE_CHOICE, AssistantCall, ToolChoice, ToolSet, ToolSpec

TOOLS = ToolSet({"look": ToolSpec("look", "Look around.")})
SYSTEM, HELLO = ChatMessage("system", "Be brief."), ChatMessage("user", "hello")


def called(tools: tuple[str, ...], count: int) -> list[str]:
    return [call.name for message in examples_for(tools, count) for call in message.calls]


def shown(*messages: ChatMessage, examples: int, name: str = "hermes") -> list[ChatMessage]:
    return prompted(
        messages, TOOLS, FREE_CHOICE, parallel=True, format_name=name, examples=examples
    )


def tool_of(call: AssistantCall) -> ToolSpec:
    properties: dict[str, Any] = {key: {} for key in json.loads(call.arguments)}
    return ToolSpec(call.name, "", {"type": "object", "properties": properties})


@pytest.mark.parametrize("count", range(MOST_EXAMPLES + 1))
def test_each_example_is_a_question_a_call_its_result_and_an_answer(count: int) -> None:
    messages = examples_for((), count)
    assert [m.role for m in messages] == ["user", "assistant", "tool", "assistant"] * count
    for _, call, result, answer in zip(*[iter(messages)] * 4, strict=True):
        assert result.call_id == call.calls[0].call_id
        assert isinstance(json.loads(call.calls[0].arguments), dict)
        assert answer.content


def test_no_example_is_of_a_tool_that_the_client_has_however_it_is_spelled() -> None:
    first, second, third = called((), 3)
    assert called((first.upper(), second.replace("_", "-")), 3)[0] == third
    assert len(called((first, second, third), 3)) == 3


@pytest.mark.parametrize("name", names())
def test_examples_are_written_in_the_models_format(name: str) -> None:
    messages = shown(SYSTEM, HELLO, examples=2, name=name)
    said = [str(message.content) for message in messages if message.role == "assistant"]
    tools = [tool_of(call) for message in examples_for((), 2) for call in message.calls]
    assert [extract(name, text, tools).calls[0].name for text in said[::2]] == called((), 2)
    assert messages[0].role == "system"
    assert str(messages[0].content).startswith("Be brief.")
    assert messages[-1] == HELLO


def test_there_are_none_where_nothing_may_be_called_or_none_are_wanted() -> None:
    assert shown(HELLO, examples=0)[1:] == [HELLO]
    none = ToolChoice("none")
    written = prompted([HELLO], TOOLS, none, parallel=True, format_name="hermes", examples=3)
    assert written == [HELLO]


def test_calls_of_the_client_keep_their_numbers_behind_those_of_the_examples() -> None:
    # The client may use our ids as its own: its calls are still numbered one after the other.
    (example,) = [call for message in examples_for((), 1) for call in message.calls]
    turn = ChatMessage("assistant", None, (AssistantCall(example.call_id, "look", "{}"),))
    result = ChatMessage("tool", "a wall", call_id=example.call_id)
    again = ChatMessage("assistant", None, (AssistantCall("c2", "look", "{}"),))
    written = shown(HELLO, turn, result, again, examples=1, name="kimi_k2")
    said = "".join(str(message.content) for message in written[1:])
    for number, name in enumerate((example.name, "look", "look")):
        assert provider_id("kimi_k2", name, number) in said
