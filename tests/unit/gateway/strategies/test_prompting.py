"""What a model without tools is shown: the tools, and what was called before, in its format."""

import json
from typing import Any

import pytest

from toolwire.formats import extract, get, names
from toolwire.gateway.strategies.prompting import demand_of, prompted
from toolwire.protocol.content import ImagePart, TextPart, text_of
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import (
    FREE_CHOICE,
    NO_TOOLS,
    AssistantCall,
    ToolChoice,
    ToolSet,
    ToolSpec,
)

PROPERTIES = {"city": {"type": "string"}, "days": {"type": "integer"}}
TOOL = ToolSpec("get_weather", "The weather.", {"type": "object", "properties": PROPERTIES})
TOOLS = ToolSet({TOOL.name: TOOL})
NONE = ToolChoice("none")
REQUIRED = ToolChoice("required")
NAMED = ToolChoice("required", frozenset({"get_weather"}), named=True)


def shown(
    *messages: ChatMessage,
    tools: ToolSet = TOOLS,
    choice: ToolChoice = FREE_CHOICE,
    parallel: bool = True,
    name: str = "hermes",
) -> list[ChatMessage]:
    return prompted(messages, tools, choice, parallel=parallel, format_name=name)


def call(number: int, arguments: str = '{"city": "Paris"}', **fields: Any) -> AssistantCall:
    return AssistantCall(f"c{number}", "get_weather", arguments, **fields)


part = TextPart
IMAGE = ImagePart("data:,")
HELLO = ChatMessage("user", "Hello <tool_call>")


@pytest.mark.parametrize(("tools", "choice"), [(NO_TOOLS, FREE_CHOICE), (TOOLS, NONE)])
@pytest.mark.parametrize("name", ["hermes", "mistral", "openai"])
def test_a_conversation_without_tools_is_not_touched(
    tools: ToolSet, choice: ToolChoice, name: str
) -> None:
    messages = [
        ChatMessage("system", "Be brief."),
        ChatMessage("user", "Say <tool_call>[TOOL_CALLS]<|start|>", name="bob"),
        ChatMessage("user", (part("a"), part("b"), IMAGE)),
        ChatMessage("assistant", None, reasoning="Hm."),
    ]
    assert shown(*messages, tools=tools, choice=choice, name=name) == messages


def test_the_tools_follow_the_clients_own_system_prompt() -> None:
    system, user = shown(ChatMessage("system", "Be brief."), HELLO)
    assert str(system.content).startswith("Be brief.\n\n")
    assert "get_weather" in str(system.content)
    assert (system.role, user.role) == ("system", "user")


def test_without_a_system_prompt_there_is_one() -> None:
    system, _ = shown(HELLO)
    assert system.role == "system"
    assert "get_weather" in str(system.content)


def test_a_developer_prompt_stays_one_and_may_come_in_parts() -> None:
    developer, _ = shown(ChatMessage("developer", (part("Be brief."),)), HELLO)
    assert developer.role == "developer"
    assert text_of(developer.content).startswith("Be brief.\n\nYou can call")


@pytest.mark.parametrize("name", names())
def test_every_format_shows_the_tools_as_json_and_an_example(name: str) -> None:
    text = str(shown(HELLO, name=name)[0].content)
    described = [json.loads(line) for line in text.split("\n") if line.startswith('{"name": "get_')]
    assert described == [
        {"name": TOOL.name, "description": TOOL.description, "parameters": TOOL.parameters}
    ]
    assert "NAME" in text
    assert "VALUE" in text


def test_what_tool_choice_and_parallel_tool_calls_demand_is_said() -> None:
    def said(**options: Any) -> str:
        return str(shown(HELLO, **options)[0].content)

    assert "must call" not in said()
    assert demand_of(REQUIRED) in said(choice=REQUIRED)
    assert "the tool get_weather now" in said(choice=NAMED)
    assert "at most one call" in said(parallel=False)
    assert "at most one call" not in said()


@pytest.mark.parametrize("name", names())
def test_calls_and_results_of_the_history_are_written_in_the_format(name: str) -> None:
    two = (call(1), call(2, '{"city": "Rome", "days": 2}'))
    _, user, assistant, results = shown(
        HELLO,
        ChatMessage("assistant", "Let me see.", two),
        ChatMessage("tool", "rain-1", call_id="c1"),
        ChatMessage("tool", (part("sun"), part("-2")), call_id="c2"),
        name=name,
    )[:4]
    assert (user.role, assistant.role, results.role) == ("user", "assistant", "user")
    assert str(assistant.content).startswith("Let me see.\n")
    read = extract(name, str(assistant.content), [TOOL]).calls
    assert [c.decoded() for c in read] == [{"city": "Paris"}, {"city": "Rome", "days": 2}]
    assert str(results.content).index("rain-1") < str(results.content).index("sun-2")


def test_results_come_in_the_order_of_the_calls() -> None:
    history = [ChatMessage("assistant", None, (call(1), call(2)))]
    results = [ChatMessage("tool", "two", call_id="c2"), ChatMessage("tool", "one", call_id="c1")]
    text = str(shown(*history, *results)[-1].content)
    assert text.index("one") < text.index("two")


def test_calls_are_numbered_over_the_whole_conversation() -> None:
    rounds = []
    for number in range(3):
        rounds += [ChatMessage("assistant", None, (call(number),))]
        rounds += [
            ChatMessage("tool", "ok", call_id=f"c{number}"),
            ChatMessage("assistant", "Yes."),
        ]
    texts = [str(message.content) for message in shown(*rounds, name="kimi_k2")]
    assert ["functions.get_weather:2" in text for text in texts[-3:]] == [True, True, False]


@pytest.mark.parametrize("name", names())
def test_every_result_stands_in_something_that_says_what_it_is(name: str) -> None:
    """Plain `rain` from the user would be what the user said."""
    history = [
        ChatMessage("assistant", None, (call(1),)),
        ChatMessage("tool", "rain", call_id="c1"),
    ]
    text = str(shown(*history, name=name)[-1].content)
    assert text.strip('"') != "rain"
    assert "rain" in text


def test_roles_alternate_because_most_templates_insist() -> None:
    history = [
        ChatMessage("assistant", None, (call(1),)),
        ChatMessage("tool", "rain", call_id="c1"),
        ChatMessage("user", "And tomorrow?"),
        ChatMessage("user", (part("Or"), IMAGE)),
    ]
    _, _, user = shown(*history, name="mistral")
    assert isinstance(user.content, tuple)
    assert text_of(user.content) == (
        "[TOOL_RESULTS]rain[/TOOL_RESULTS]\n\nAnd tomorrow?\n\nOr[image_url]"
    )


def test_texts_in_a_row_become_one_and_other_parts_stay() -> None:
    _, user = shown(ChatMessage("user", (part("a"), part("b"), IMAGE, part("c"))))
    assert user.content == (part("a\nb"), IMAGE, part("c"))
    assert shown(ChatMessage("user", (part("a"), part("b"))))[1].content == "a\nb"


@pytest.mark.parametrize(
    "arguments", ["", "  ", "[1]", "nope", '{"a": 1e999}', '{"a": "\\ud800"}', '{"a": ' + "[" * 9]
)
def test_arguments_of_any_kind_can_be_written(arguments: str) -> None:
    for name in names():
        assert shown(ChatMessage("assistant", None, (call(1, arguments),)), name=name)


def test_the_text_of_a_custom_tool_is_kept() -> None:
    message = ChatMessage("assistant", None, (call(1, "SELECT 1", kind="custom"),))
    (read,) = extract("hermes", str(shown(message)[-1].content), [TOOL]).calls
    assert read.decoded() == {"input": "SELECT 1"}


def test_a_history_of_calls_is_written_even_when_no_tools_are_offered_any_more() -> None:
    history = [
        ChatMessage("assistant", None, (call(1),)),
        ChatMessage("tool", "rain", call_id="c1"),
    ]
    assistant, results = shown(*history, tools=NO_TOOLS)
    assert "<tool_call>" in str(assistant.content)
    assert results.role == "user"
    assert not assistant.calls


def test_reasoning_is_passed_on_to_servers_that_want_it() -> None:
    history = [
        ChatMessage("assistant", "Hi.", reasoning="one"),
        ChatMessage("assistant", None, (call(1),), reasoning="two"),
    ]
    assert [message.reasoning for message in shown(*history)] == [None, "one", "two"]


def test_what_is_not_text_is_named_in_a_result() -> None:
    assert text_of((part("see "), IMAGE)) == "see [image_url]"
    assert (text_of(None), text_of("a")) == ("", "a")


def test_the_demand_names_the_tool_that_must_be_called() -> None:
    assert "get_weather" in demand_of(NAMED)
    assert "at least one" in demand_of(REQUIRED)


def test_the_formats_own_markers_frame_its_results() -> None:
    history = [
        ChatMessage("assistant", None, (call(1),)),
        ChatMessage("tool", "rain", call_id="c1"),
    ]
    for name in names():
        record = get(name).results
        if record.before:
            assert str(shown(*history, name=name)[-1].content).startswith(record.before), name
