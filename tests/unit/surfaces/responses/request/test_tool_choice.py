"""`tool_choice`, in the flat forms of this API."""

from typing import Any

import pytest
from tests.contract.chatting import speaking
from tests.unit.surfaces.responses.responding import CALLED, PATCH, WEATHER, ask, call

from toolwire.protocol.tools import ToolChoice

NAMED = ToolChoice("required", frozenset({"get_weather"}), named=True)
SPACE = {"type": "namespace", "name": "rec", "tools": [WEATHER]}


def chosen(choice: Any, *tools: Any) -> ToolChoice:
    backend = speaking(call("get_weather", "{}"), CALLED)
    answer = ask(backend, tools=list(tools or (WEATHER, PATCH)), tool_choice=choice)
    assert answer.status == 200, answer.written
    return answer.asked[0].request.choice


@pytest.mark.parametrize("word", ["auto", "none", "required"])
def test_words_mean_what_they_say(word: Any) -> None:
    assert chosen(word) == ToolChoice(word)


def test_a_function_can_be_named() -> None:
    assert chosen({"type": "function", "name": "get_weather"}) == NAMED


def test_a_custom_tool_can_be_named() -> None:
    backend = speaking(call("apply_patch", '{"input":"x"}'), CALLED)
    choice = {"type": "custom", "name": "apply_patch"}
    answer = ask(backend, tools=[PATCH], tool_choice=choice)
    assert answer.asked[0].request.choice.allowed == {"apply_patch"}


def test_a_tool_of_a_namespace_can_be_named() -> None:
    backend = speaking(call("rec__get_weather", "{}"), CALLED)
    choice = {"type": "function", "name": "get_weather"}
    answer = ask(backend, tools=[SPACE], tool_choice=choice)
    assert answer.asked[0].request.choice.allowed == {"rec__get_weather"}


def test_tools_can_be_allowed() -> None:
    tools = [{"type": "function", "name": "get_weather"}, {"type": "web_search"}]
    choice = {"type": "allowed_tools", "mode": "required", "tools": tools}
    assert chosen(choice) == ToolChoice("required", frozenset({"get_weather"}))


@pytest.mark.parametrize(
    ("choice", "param", "code"),
    [
        ("sometimes", "tool_choice", "invalid_value"),
        (3, "tool_choice", "invalid_type"),
        ({"type": "function"}, "tool_choice.name", "missing_required_parameter"),
        ({"type": "function", "name": "other"}, "tool_choice", None),
        ({"type": "web_search_preview"}, "tool_choice.type", "unsupported_value"),
        ({"type": {}}, "tool_choice.type", "unsupported_value"),
        ({"type": "mcp", "server_label": "x"}, "tool_choice.type", "unsupported_value"),
        ({"type": "allowed_tools", "mode": "x", "tools": []}, "tool_choice.mode", "invalid_value"),
        ({"type": "allowed_tools", "tools": []}, "tool_choice.tools", "empty_array"),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]},
            "tool_choice",
            "invalid_value",
        ),
    ],
)
def test_what_cannot_be_chosen_is_refused(choice: Any, param: str, code: str | None) -> None:
    answer = ask(tools=[WEATHER], tool_choice=choice)
    assert answer.status == 400
    assert answer.json["error"]["param"] == param
    assert answer.json["error"]["code"] == code


def test_a_call_cannot_be_demanded_if_every_tool_is_run_elsewhere() -> None:
    answer = ask(tools=[{"type": "web_search"}], tool_choice="required")
    assert (answer.status, answer.json["error"]["param"]) == (400, "tool_choice")


@pytest.mark.parametrize(("tools", "mode"), [([], "auto"), ([WEATHER], "none")])
def test_nothing_is_called_if_only_tools_that_are_run_elsewhere_are_allowed(
    tools: list[Any], mode: str
) -> None:
    search = {"type": "web_search"}
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [search]}
    answer = ask(tools=[*tools, search], tool_choice=choice)
    assert answer.status == 200, answer.written
    assert answer.asked[0].request.choice.mode == mode
