"""Tool definitions and choices of the Messages API."""

from typing import Any

import pytest
from tests.contract.messaging import HELLO, TOOL, asked, ignored

from toolwire.errors import RequestError
from toolwire.protocol.tools import ToolChoice

DEFERRED = {**TOOL, "name": "later", "defer_loading": True}


def offered(*tools: dict[str, Any], **fields: Any) -> list[str]:
    return list(asked(tools=list(tools), **fields).request.tools.tools)


def conversation(result: Any) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": "a", "name": "ToolSearch", "input": {}}
    return [
        *HELLO,
        {"role": "assistant", "content": [call]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "a", "content": result}],
        },
    ]


def test_a_tool_is_a_function_with_its_schema() -> None:
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **TOOL["input_schema"]}
    spec = {**TOOL, "type": "custom", "input_schema": schema, "eager_input_streaming": True}
    tool = asked(tools=[spec]).request.tools.tools["get_weather"]
    assert tool.description == "The weather in a city."
    assert tool.parameters["properties"] == {"city": {"type": "string"}}


def test_a_schema_without_a_type_is_one_of_an_object() -> None:
    spec = {"name": "x", "input_schema": {"properties": {"a": {"type": "string"}}}}
    assert asked(tools=[spec]).request.tools.tools["x"].parameters["type"] == "object"


def test_a_deferred_tool_is_not_offered_before_it_is_referred_to() -> None:
    assert offered(TOOL, DEFERRED) == ["get_weather"]
    found = conversation([{"type": "tool_reference", "tool_name": "later"}])
    assert offered(TOOL, DEFERRED, messages=found) == ["get_weather", "later"]


def test_deferred_tools_are_offered_where_the_search_for_them_is_left_out() -> None:
    search = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    request = asked(tools=[search, DEFERRED, TOOL]).request
    assert list(request.tools.tools) == ["get_weather", "later"]
    assert request.repairs == ("tool_left_out:tool_search_tool_bm25_20251119",)


def test_system_messages_can_add_and_remove_tools() -> None:
    def changed(kind: str, **tool: Any) -> list[dict[str, Any]]:
        return [*HELLO, {"role": "system", "content": [{"type": kind, "tool": tool}]}]

    assert "later" in offered(TOOL, DEFERRED, messages=changed("tool_addition", tool_name="later"))
    gone = changed("tool_removal", tool_name="get_weather")
    assert offered(TOOL, messages=gone) == []
    inline = changed("tool_addition", type="tool_definition", definition={**TOOL, "name": "new"})
    assert offered(TOOL, messages=inline) == ["get_weather", "new"]


def test_tools_that_a_server_would_run_are_left_out_and_reported() -> None:
    request = asked(tools=[TOOL, {"type": "web_search_20250305", "name": "web_search"}]).request
    assert list(request.tools.tools) == ["get_weather"]
    assert request.repairs == ("tool_left_out:web_search_20250305",)


@pytest.mark.parametrize(
    ("kind", "name", "field"),
    [
        ("bash_20250124", "bash", "restart"),
        ("text_editor_20250728", "str_replace_based_edit_tool", "view_range"),
        ("memory_20250818", "memory", "old_path"),
    ],
)
def test_tools_that_only_claude_knows_get_a_schema(kind: str, name: str, field: str) -> None:
    tool = asked(tools=[{"type": kind, "name": name}]).request.tools.tools[name]
    assert field in tool.parameters["properties"]
    assert tool.description


@pytest.mark.parametrize(
    ("kind", "undo", "insert"),
    [
        ("text_editor_20241022", True, "new_str"),
        ("text_editor_20250124", True, "new_str"),
        ("text_editor_20250429", False, "new_str"),
        ("text_editor_20250728", False, "insert_text"),
        ("text_editor_20990101", False, "insert_text"),
    ],
)
def test_each_version_of_the_editor_gets_the_commands_that_its_clients_run(
    kind: str, undo: bool, insert: str
) -> None:
    fields = asked(tools=[{"type": kind, "name": "edit"}]).request.tools.tools["edit"].parameters
    properties = fields["properties"]
    assert ("undo_edit" in properties["command"]["enum"]) is undo
    inserts = [name for name, about in properties.items() if "to insert." in about["description"]]
    assert inserts == [insert]


def test_a_long_name_is_mapped_and_back() -> None:
    name = "mcp__server__" + "x" * 100
    tools = asked(tools=[{**TOOL, "name": name}]).request.tools
    (safe,) = tools.tools
    assert len(safe) == 64
    assert tools.originals == {safe: name}


def test_a_strict_tool_whose_schema_cannot_be_strict_is_offered_all_the_same() -> None:
    request = asked(tools=[{**TOOL, "strict": True}]).request
    assert not request.tools.strict
    assert request.repairs == ("not_strict:get_weather",)
    schema = {**TOOL["input_schema"], "additionalProperties": False, "required": ["city"]}
    assert asked(tools=[{**TOOL, "strict": True, "input_schema": schema}]).request.tools.strict


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"type": "auto"}, ToolChoice("auto")),
        ({"type": "any"}, ToolChoice("required")),
        ({"type": "none"}, ToolChoice("none")),
        (
            {"type": "tool", "name": "get_weather"},
            ToolChoice("required", frozenset({"get_weather"}), named=True),
        ),
    ],
)
def test_a_choice_is_translated(choice: dict[str, Any], expected: ToolChoice) -> None:
    assert asked(tools=[TOOL], tool_choice=choice).request.choice == expected


def test_parallel_calls_can_be_forbidden() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    assert asked(tools=[TOOL], tool_choice=choice).request.parallel is False
    assert asked(tools=[TOOL]).request.parallel is True


def test_a_tool_that_was_left_out_is_not_demanded() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    choice = {"type": "tool", "name": "web_search"}
    made = asked(tools=[search], tool_choice=choice)
    assert (made.request.choice, ignored(made)) == (ToolChoice(), ("tool_choice",))


def test_a_call_is_not_demanded_where_no_tool_is_left() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    made = asked(tools=[search], tool_choice={"type": "any"})
    assert (made.request.choice, ignored(made)) == (ToolChoice("auto"), ("tool_choice",))


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"tools": [{"name": "x"}]}, "tools.0.input_schema: Field required"),
        ({"tools": [{"input_schema": {}}]}, "tools.0.name: "),
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique"),
        ({"tools": {}}, "tools: "),
        ({"tool_choice": "auto"}, "tool_choice: "),
        ({"tool_choice": {"type": "most"}}, "tool_choice.type: "),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}}, "tool_choice.name: "),
        ({"tools": [TOOL] * 65}, "tools: List should have at most 64"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(fields: dict[str, Any], where: str) -> None:
    with pytest.raises(RequestError) as refused:
        asked(**fields)
    assert refused.value.message.startswith(where)
