"""Requests that are wrong: all that is wrong is said at once, each with its place."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.surfaces.native.speaking import ASKED, CACHE, WEATHER, Gateway, body

from toolwire.errors import RequestError
from toolwire.surfaces.native.fields import FIELDS, read_value
from toolwire.surfaces.native.problems import InvalidRequest, Problems
from toolwire.surfaces.native.reader import Earlier, NativeRequestReader
from toolwire.surfaces.native.tools import NativeToolReader
from toolwire.surfaces.native.wire import Problem

READER = NativeRequestReader(NativeToolReader(CACHE, 128), 1000)
OBJECT = {"type": "object"}


def found_in(read: Callable[[], object]) -> tuple[Problem, ...]:
    """What is wrong, if anything is."""
    try:
        read()
    except InvalidRequest as error:
        return error.problems
    return ()


def problems(**fields: Any) -> dict[str, str]:
    """Where something is wrong with a request, and what."""
    request = {"model": "m", "messages": [ASKED], **fields}
    raw = json.dumps({name: value for name, value in request.items() if value != "ABSENT"})
    found = found_in(lambda: READER.read(raw.encode()).request(Earlier()))
    return {problem.path: str(problem.code) for problem in found}


def definition(**changes: Any) -> dict[str, Any]:
    """A tool, with changes; None leaves a field out."""
    function = {"name": "f", "description": "Does it.", "parameters": OBJECT, **changes}
    return {"type": "function", "function": {k: v for k, v in function.items() if v is not None}}


@pytest.mark.parametrize(
    ("tool", "path", "code"),
    [
        (definition(name="a-b"), "name", "invalid_value"),
        (definition(name="a.b"), "name", "invalid_value"),
        (definition(name=""), "name", "invalid_value"),
        (definition(name="é"), "name", "invalid_value"),
        (definition(name="f\n"), "name", "invalid_value"),
        (definition(name="a" * 65), "name", "invalid_value"),
        (definition(name=None), "name", "missing_required_parameter"),
        (definition(name=7), "name", "invalid_type"),
        (definition(description=None), "description", "missing_required_parameter"),
        (definition(description=""), "description", "empty_string"),
        (definition(description=" \n"), "description", "empty_string"),
        (definition(parameters=None), "parameters", "missing_required_parameter"),
        (definition(parameters={}), "parameters", "invalid_function_parameters"),
        (definition(parameters={"type": "array"}), "parameters", "invalid_function_parameters"),
        (
            definition(parameters={"type": "object", "properties": {"a": {"type": "strin"}}}),
            "parameters", "invalid_function_parameters",
        ),
        (
            definition(parameters={"type": "object", "properties": {"a": {"$ref": "#/no"}}}),
            "parameters", "invalid_function_parameters",
        ),
    ],
)  # fmt: skip
def test_definitions_are_checked_strictly(tool: Any, path: str, code: str) -> None:
    assert problems(tools=[WEATHER, tool]) == {f"tools[1].function.{path}": code}


@pytest.mark.parametrize("name", ["a", "A_1", "a" * 64])
def test_a_good_definition_is_accepted(name: str) -> None:
    assert problems(tools=[definition(name=name)]) == {}


def test_a_tool_of_another_type_is_refused() -> None:
    assert problems(tools=[{**WEATHER, "type": "custom"}]) == {"tools[0].type": "invalid_value"}


def test_a_name_may_not_be_used_twice() -> None:
    assert problems(tools=[WEATHER, WEATHER]) == {"tools[1].function.name": "invalid_value"}


def test_a_message_that_is_no_object_is_told_so_once() -> None:
    (found,) = found_in(lambda: READER.read(b'{"messages": [7], "model": "m"}').request(Earlier()))
    assert found.message == (
        "Invalid type for 'messages[0]': expected an object, but got an integer instead."
    )


def test_all_problems_are_reported_at_once() -> None:
    assert problems(
        model="ABSENT",
        messages=[{"role": "user"}, {"role": "robot", "content": "x"}, ASKED, {"content": "x"}],
        tools=[definition(name="a b", description=""), definition(parameters={}), 7],
        tool_choice="maybe",
        temperature=9,
        top_p="x",
        n=3,
        wait=-1,
        conversation_id="a/b",
        tool_results=[{"content": 1}, {"tool_call_id": "", "content": 1, "is_error": "yes"}],
        functions=[],
    ) == {
        "model": "missing_required_parameter",
        "messages[0].content": "missing_required_parameter",
        "messages[1].role": "invalid_value",
        "messages[3].role": "missing_required_parameter",
        "tools[0].function.name": "invalid_value",
        "tools[0].function.description": "empty_string",
        "tools[1].function.parameters": "invalid_function_parameters",
        "tools[2]": "invalid_type",
        "tool_choice": "invalid_value",
        "temperature": "decimal_above_max_value",
        "top_p": "invalid_type",
        "n": "unsupported_parameter",
        "wait": "invalid_value",
        "conversation_id": "invalid_value",
        "tool_results[0].tool_call_id": "missing_required_parameter",
        "tool_results[1].tool_call_id": "empty_string",
        "tool_results[1].is_error": "invalid_type",
        "functions": "unsupported_parameter",
    }


CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": {}}}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("{}", "invalid_type"), ([], "invalid_type"), (None, "invalid_type")],
)
def test_arguments_in_the_history_must_be_objects(arguments: Any, code: str) -> None:
    call = {**CALL, "function": {"name": "f", "arguments": arguments}}
    said = {"role": "assistant", "tool_calls": [call]}
    path = "messages[1].tool_calls[0].function.arguments"
    assert problems(messages=[ASKED, said]) == {path: code}


@pytest.mark.parametrize(
    ("choice", "path"),
    [
        ({"function": {"name": "no"}}, "tool_choice.function.name"),
        ({"function": {}}, "tool_choice.function.name"),
        ({}, "tool_choice.function"),
        (7, "tool_choice"),
        ({"type": "allowed_tools", "function": {"name": "get_weather"}}, "tool_choice.type"),
    ],
)
def test_a_wrong_tool_choice_is_refused_at_its_place(choice: Any, path: str) -> None:
    assert list(problems(tools=[WEATHER], tool_choice=choice)) == [path]


@pytest.mark.parametrize("choice", ["required", {"function": {"name": "f"}}])
def test_a_call_cannot_be_required_without_tools(choice: Any) -> None:
    assert problems(tool_choice=choice) == {"tool_choice": "invalid_value"}


def test_there_must_be_something_to_answer() -> None:
    assert problems(messages=[]) == {"messages": "empty_array"}
    assert problems(messages="ABSENT") == {"messages": "empty_array"}


def test_content_parts_are_checked_and_passed_on() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "nonsense"}]
    message = {"role": "user", "content": parts}
    assert list(problems(messages=[message])) == ["messages[0].content[1].type"]
    gateway = Gateway()
    gateway.ask(body({"role": "user", "content": parts[:1]}))
    assert gateway.asked[0].messages[0].content is not None


def deep(levels: int) -> Any:
    """Arrays within arrays."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_results_that_are_nested_too_deeply_are_refused() -> None:
    said = {"role": "assistant", "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "call_1", "content": deep(200)}
    assert problems(messages=[ASKED, said, result]) == {"messages[2].content": "invalid_value"}


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"model": "m\xff"}', b"7"])
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(RequestError):
        READER.read(raw)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 70)
    | st.sampled_from(["", "auto", "user", "tool", "function", "f", "x y", "call_1"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["role", "content", "type", "function", "name", "description", "parameters", "id",
             "arguments", "tool_calls", "tool_call_id", "is_error"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize("field", sorted(FIELDS))
@settings(max_examples=60, deadline=None)
@given(value=VALUES)
def test_what_the_decoder_refuses_has_a_fault_with_a_place(field: str, value: Any) -> None:
    found = Problems()
    got = read_value(field, json.dumps(value).encode(), found)
    paths = [problem.path for problem in found_in(found.check)]
    assert got is None or not paths
    assert all(path.startswith(field) for path in paths)
    assert len(set(paths)) == len(paths)
