"""Tools of every kind -> functions, and calls of them back to what the client knows."""

from typing import Any

import pytest
from tests.contract.chatting import speaking
from tests.unit.surfaces.responses.responding import (
    CALLED,
    PATCH,
    WEATHER,
    Answer,
    ask,
    call,
    made,
    result,
    user,
)

from toolwire.protocol.tools import ToolSpec

MCP = {
    "type": "namespace",
    "name": "mcp__rec",
    "description": "Records.",
    "tools": [WEATHER, {"type": "custom", "name": "note"}],
}
ARGUMENTS = '{"city":"Paris"}'


def offered(*tools: Any, **fields: Any) -> dict[str, ToolSpec]:
    """The tools that the backend is sent."""
    answer = ask(tools=list(tools), **fields)
    assert answer.status == 200, answer.written
    return dict(answer.asked[0].tools.tools)


def called(name: str, arguments: str, *tools: Any, **fields: Any) -> Answer:
    """An answer with one call."""
    return ask(speaking(call(name, arguments), CALLED), tools=list(tools), stream=True, **fields)


def test_a_function_keeps_its_schema_and_is_not_strict_unless_it_says_so() -> None:
    tool = offered(WEATHER)["get_weather"]
    assert tool.parameters == WEATHER["parameters"]
    assert not tool.strict


def test_a_function_without_parameters_takes_none() -> None:
    assert offered({"type": "function", "name": "now", "parameters": None})["now"].name == "now"


def test_a_strict_function_is_strict() -> None:
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    tool = {"type": "function", "name": "now", "parameters": schema, "strict": True}
    assert offered(tool)["now"].strict


def test_a_namespace_is_part_of_the_name_that_the_model_sees() -> None:
    tools = offered(MCP)
    assert list(tools) == ["mcp__rec__get_weather", "mcp__rec__note"]
    assert tools["mcp__rec__get_weather"].description == "Records.\nThe weather."


@pytest.mark.parametrize("name", ["mcp__rec__get_weather", "mcp__rec.get_weather"])
def test_a_call_names_the_namespace_and_the_tool_apart(name: str) -> None:
    answer = called(name, ARGUMENTS, MCP)
    for item in (answer.output[0], answer.stream[2]["item"]):
        assert (item["namespace"], item["name"]) == ("mcp__rec", "get_weather")


def test_a_call_by_the_bare_name_of_the_only_such_tool_is_understood() -> None:
    item = called("get_weather", ARGUMENTS, MCP).output[0]
    assert (item.get("namespace"), item["name"]) == ("mcp__rec", "get_weather")


def test_tools_of_the_default_namespace_keep_their_names() -> None:
    space = {"type": "namespace", "name": "functions", "description": "x", "tools": [PATCH]}
    item = called("apply_patch", '{"input":"x"}', space).output[0]
    assert (item["type"], item["name"], item["namespace"]) == (
        "custom_tool_call", "apply_patch", "functions",
    )  # fmt: skip


def test_two_tools_never_share_a_name() -> None:
    other = {**WEATHER, "name": "mcp__rec__get_weather", "description": "Another."}
    tools = offered(other, MCP)
    assert len(tools) == 3
    (renamed,) = [name for name in tools if name.startswith("mcp__rec__get_weather_")]
    item = called(renamed, ARGUMENTS, other, MCP).output[0]
    assert (item["namespace"], item["name"]) == ("mcp__rec", "get_weather")


def test_a_long_name_is_cut_and_comes_back_whole() -> None:
    space = {**MCP, "name": "mcp__" + "x" * 80}
    (name, _) = offered(space)
    assert len(name) <= 64
    assert called(name, ARGUMENTS, space).output[0]["namespace"] == space["name"]


def test_calls_in_the_history_have_the_name_that_the_model_knows() -> None:
    history = [user("a"), made("c1", namespace="mcp__rec"), result("c1", "x")]
    answer = ask(input=history, tools=[MCP])
    assert answer.asked[0].messages[1].calls[0].name == "mcp__rec__get_weather"


def test_a_custom_tool_is_a_function_with_one_string() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: begin_patch"}
    tool = offered({**PATCH, "format": grammar})["apply_patch"]
    assert tool.parameters["required"] == ["input"]
    assert "Edit files." in (tool.description or "")
    assert "Lark grammar:\nstart: begin_patch" in (tool.description or "")
    assert "*** Begin Patch" in (tool.description or "")


@pytest.mark.parametrize(
    "kind",
    ["web_search", "web_search_preview", "image_generation", "mcp", "code_interpreter", "unheard"],
)
def test_a_tool_that_is_run_elsewhere_is_left_out_and_reported(kind: str) -> None:
    answer = ask(tools=[WEATHER, {"type": kind}])
    assert list(answer.asked[0].tools.tools) == ["get_weather"]
    assert f"tools[1]:{kind}" in answer.headers["toolwire-ignored-params"]


def test_without_any_tool_that_can_be_called_the_answer_is_text() -> None:
    assert ask(tools=[{"type": "web_search"}]).output[0]["type"] == "message"


ADDED = {"type": "additional_tools", "role": "developer", "tools": [MCP]}


def test_tools_of_an_item_join_those_of_the_request() -> None:
    answer = ask(input=[ADDED, user("a")], tools=[WEATHER])
    assert list(answer.asked[0].tools.tools) == [
        "get_weather", "mcp__rec__get_weather", "mcp__rec__note",
    ]  # fmt: skip
    assert len(answer.asked[0].messages) == 1


SEARCH = {
    "type": "tool_search",
    "execution": "client",
    "description": "Find tools.",
    "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def test_a_search_for_tools_is_a_function_whose_arguments_are_an_object() -> None:
    answer = called("tool_search", '{"query":"weather"}', SEARCH)
    item = answer.output[0]
    assert (item["type"], item["execution"], item["status"]) == (
        "tool_search_call", "client", "completed",
    )  # fmt: skip
    assert item["arguments"] == {"query": "weather"}
    assert item["id"].startswith("tsc_")


def test_tools_that_were_found_join_the_others() -> None:
    history = [
        user("a"),
        {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {}},
        {"type": "tool_search_output", "call_id": "c1", "status": "completed", "tools": [MCP]},
    ]
    answer = ask(input=history, tools=[SEARCH])
    assert "mcp__rec__get_weather" in answer.asked[0].tools.tools
    text = answer.asked[0].messages[-1].content
    assert text == "Now available: mcp__rec__get_weather, mcp__rec__note."


@pytest.mark.parametrize(
    ("kind", "arguments", "field", "value"),
    [
        (
            "local_shell",
            '{"command":["ls","-l"],"timeout_ms":5}',
            "action",
            {"type": "exec", "command": ["ls", "-l"], "env": {}, "timeout_ms": 5},
        ),
        (
            "shell",
            '{"commands":["ls"]}',
            "action",
            {"commands": ["ls"], "timeout_ms": None, "max_output_length": None},
        ),
        (
            "apply_patch",
            '{"type":"create_file","path":"a","diff":"+x"}',
            "operation",
            {"type": "create_file", "path": "a", "diff": "+x"},
        ),
    ],
)
def test_built_in_tools_have_items_of_their_own(
    kind: str, arguments: str, field: str, value: Any
) -> None:
    answer = called(kind, arguments, {"type": kind})
    item = answer.output[0]
    assert item["type"] == f"{kind}_call"
    assert item[field] == value
    assert answer.kinds[2:] == ["output_item.added", "output_item.done", "completed"]


def test_a_shell_in_a_container_is_run_elsewhere() -> None:
    tool = {"type": "shell", "environment": {"type": "container_auto"}}
    assert "tools[0]:shell" in ask(tools=[tool]).headers["toolwire-ignored-params"]


@pytest.mark.parametrize(
    ("tool", "param"),
    [
        ({"type": "function"}, "tools[0].name"),
        ({"type": "function", "name": 3}, "tools[0].name"),
        ({"type": "function", "name": "f", "parameters": []}, "tools[0].parameters"),
        ({"type": "function", "name": "f", "strict": "yes"}, "tools[0].strict"),
        ({"type": "namespace", "name": "n"}, "tools[0].tools"),
        (
            {"type": "namespace", "name": "n", "tools": [{"type": "custom"}]},
            "tools[0].tools[0].name",
        ),
    ],
)
def test_what_is_wrong_with_a_tool_is_said_with_its_place(tool: Any, param: str) -> None:
    answer = ask(tools=[tool])
    assert answer.status == 400
    assert answer.json["error"]["param"] == param
