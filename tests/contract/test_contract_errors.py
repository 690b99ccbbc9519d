"""One test per row of the error contract that can be told from the request alone."""

from dataclasses import dataclass
from typing import Any

import pytest
from tests.asking import given
from tests.contract.wire import (
    ABSENT,
    USER,
    asked,
    body,
    call,
    history,
    read,
    refusal,
    result,
    shown,
    tool,
)

PATTERN = (
    "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
)
ORPHAN = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'."
)
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. The following tool_call_ids did not have response messages: "
)
NO_JSON = (
    "We could not parse the JSON body of your request. (HINT: This likely means you aren't using "
    "your HTTP library correctly. The body must be one JSON object in UTF-8: "
)
SCHEMA = "Invalid schema for function 'f': "
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True)
class Row:
    """A body, and what a client is told about it."""

    name: str
    body: bytes
    message: str
    param: str | None
    code: str | None = None


ROWS = (
    Row(
        "tool message with no preceding call",
        history(USER, USER, USER, result()),
        ORPHAN,
        "messages.[3].role",
    ),
    Row(
        "calls not answered before the next message",
        history(USER, asked(call("call_x")), USER),
        UNANSWERED + "call_x",
        "messages.[2].role",
    ),
    Row(
        "calls not answered at the end",
        history(USER, asked(call("call_x"), call("call_y"))),
        UNANSWERED + "call_x, call_y",
        "messages.[2].role",
    ),
    Row(
        "one of two calls answered",
        history(asked(call("call_x"), call("call_y")), result("call_y"), USER),
        UNANSWERED + "call_x",
        "messages.[2].role",
    ),
    Row(
        "id mismatch",
        history(USER, asked(call("call_x")), result("call_z")),
        UNANSWERED + "call_x. 'messages[2].tool_call_id' is 'call_z', which is none of them.",
        "messages.[2].role",
    ),
    Row(
        "tool message without tool_call_id",
        history(USER, asked(call()), {"role": "tool", "content": "ok"}),
        "Missing required parameter: 'messages[2].tool_call_id'.",
        "messages[2].tool_call_id",
        "missing_required_parameter",
    ),
    Row(
        "tool message with an empty tool_call_id",
        history(asked(call()), result("")),
        "Missing required parameter: 'messages[1].tool_call_id'.",
        "messages[1].tool_call_id",
        "missing_required_parameter",
    ),
    Row(
        "any missing field",
        history(USER, USER, {"role": "user", "content": [{"text": "x"}]}),
        "Missing required parameter: 'messages[2].content[0].type'.",
        "messages[2].content[0].type",
        "missing_required_parameter",
    ),
    Row(
        "wrong JSON type",
        history({"role": "user", "content": 5}),
        "Invalid type for 'messages[0].content': expected one of a string or array of objects, "
        "but got an integer instead.",
        "messages[0].content",
        "invalid_type",
    ),
    Row(
        "role outside the list",
        history({"role": "robot", "content": "x"}),
        "Invalid value: 'robot'. Supported values are: 'system', 'developer', 'user', "
        "'assistant', and 'tool'.",
        "messages[0].role",
        "invalid_value",
    ),
    Row(
        "tool type outside the list",
        body(tools=[{"type": "retrieval"}]),
        "Invalid value: 'retrieval'. Supported values are: 'function' and 'custom'.",
        "tools[0].type",
        "invalid_value",
    ),
    Row(
        "tool_choice outside the list",
        body(tools=[tool()], tool_choice="maybe"),
        "Invalid value: 'maybe'. Supported values are: 'none', 'auto', and 'required'.",
        "tool_choice",
        "invalid_value",
    ),
    Row(
        "type of a call in the history",
        history(asked({**call(), "type": "x"}), result()),
        "Invalid value: 'x'. Supported values are: 'function' and 'custom'.",
        "messages[0].tool_calls[0].type",
        "invalid_value",
    ),
    Row(
        "tool name pattern",
        body(tools=[tool("a.b")]),
        f"Invalid 'tools[0].function.name': {PATTERN}",
        "tools[0].function.name",
        "invalid_value",
    ),
    Row(
        "tool name with a line end after it",
        body(tools=[tool("ab\n")]),
        f"Invalid 'tools[0].function.name': {PATTERN}",
        "tools[0].function.name",
        "invalid_value",
    ),
    Row(
        "tool name pattern in the history",
        history(*[USER] * 9, asked(call(name="a/b")), result()),
        f"Invalid 'messages[9].tool_calls[0].function.name': {PATTERN}",
        "messages[9].tool_calls[0].function.name",
        "invalid_value",
    ),
    Row(
        "tool name over 64",
        body(tools=[tool("f" * 65)]),
        "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length "
        "64, but got a string with length 65 instead.",
        "tools[0].function.name",
        "string_above_max_length",
    ),
    Row(
        "empty tool name",
        body(tools=[tool("")]),
        "Invalid 'tools[0].function.name': empty string. Expected a string with minimum length 1, "
        "but got an empty string instead.",
        "tools[0].function.name",
        "empty_string",
    ),
    Row(
        "call id over the limit (256 here: conversations move between providers)",
        history(USER, USER, asked(call("c" * 257)), result("c" * 257)),
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum "
        "length 256, but got a string with length 257 instead.",
        "messages[2].tool_calls[0].id",
        "string_above_max_length",
    ),
    Row(
        "more than 128 tools",
        body(tools=[tool(f"f{at}") for at in range(129)]),
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an "
        "array with length 129 instead.",
        "tools",
        "array_above_max_length",
    ),
    Row(
        "schema whose root is no object",
        body(tools=[tool(parameters={"type": "string"})]),
        SCHEMA + "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"string\"'.",
        "tools[0].function.parameters",
        "invalid_function_parameters",
    ),
    Row(
        "strict without additionalProperties",
        body(tools=[tool("g"), tool(parameters=OBJECT, strict=True)]),
        SCHEMA
        + "In context=(), 'additionalProperties' is required to be supplied and to be false.",
        "tools[1].function.parameters",
        "invalid_function_parameters",
    ),
    Row(
        "parallel_tool_calls without tools",
        body(parallel_tool_calls=True),
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when "
        "'tools' are specified.",
        "parallel_tool_calls",
    ),
    Row(
        "tool_choice without tools",
        body(tool_choice="auto"),
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are "
        "specified.",
        "tool_choice",
    ),
    Row(
        "tool_choice names an unknown tool",
        body(tools=[tool()], tool_choice={"type": "function", "function": {"name": "g"}}),
        "Tool choice 'g' not found in 'tools' parameter.",
        "tool_choice",
    ),
    Row(
        "stream_options without stream",
        body(stream_options={"include_usage": True}),
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
    ),
    Row(
        "decimal above its range",
        body(temperature=2.1),
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.1 "
        "instead.",
        "temperature",
        "decimal_above_max_value",
    ),
    Row(
        "decimal below its range",
        body(top_p=-0.5),
        "Invalid 'top_p': decimal below minimum value. Expected a value >= 0, but got -0.5 "
        "instead.",
        "top_p",
        "decimal_below_min_value",
    ),
    Row(
        "integer below its range",
        body(max_tokens=0),
        "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 "
        "instead.",
        "max_tokens",
        "integer_below_min_value",
    ),
    Row(
        "integer above its range",
        body(n=10**9),
        "Invalid 'n': integer above maximum value. Expected a value <= 128, but got 1000000000 "
        "instead.",
        "n",
        "integer_above_max_value",
    ),
    Row("not JSON", b"{", NO_JSON + "Input data was truncated.)", None),
    Row(
        "the pre-2023 functions",
        body(functions=[{"name": "f"}]),
        "Unsupported parameter: 'functions' is not supported. Use 'tools' instead.",
        "functions",
        "unsupported_parameter",
    ),
    Row(
        "the pre-2023 function_call",
        body(function_call="auto"),
        "Unsupported parameter: 'function_call' is not supported. Use 'tool_choice' instead.",
        "function_call",
        "unsupported_parameter",
    ),
    Row(
        "the pre-2023 function_call in the history",
        history({"role": "assistant", "content": None, "function_call": {"name": "f"}}),
        "Unsupported parameter: 'messages[0].function_call' is not supported. "
        "Use 'tool_calls' instead.",
        "messages[0].function_call",
        "unsupported_parameter",
    ),
    Row(
        "custom tool where the backend takes none",
        body(tools=[tool(), {"type": "custom", "custom": {"name": "c"}}]),
        "Unsupported value: custom tools are not supported with this model. "
        "Use a tool of type 'function'.",
        "tools[1].type",
        "unsupported_value",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_client_is_told_exactly_this(row: Row) -> None:
    assert shown(refusal(row.body)) == {
        "status": 400,
        "message": row.message,
        "type": "invalid_request_error",
        "param": row.param,
        "code": row.code,
    }


def test_an_empty_list_of_tools_means_no_tools() -> None:
    plan = read(body(tools=[], tool_choice="auto", parallel_tool_calls=True))
    assert not plan.outgoing.tools.tools


def test_an_unknown_parameter_is_accepted_and_named() -> None:
    request = read(body(frobnicate={"a": 1})).request
    assert request.ignored == ("frobnicate",)


def test_null_means_that_a_parameter_was_not_given() -> None:
    nulls = dict.fromkeys(
        (
            "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options", "functions",
            "function_call", "temperature", "stop", "n", "frobnicate",
        )
    )  # fmt: skip
    request = read(body(**nulls)).request
    assert (given(request), request.ignored, request.stream) == ({}, (), False)


@pytest.mark.parametrize("length", [41, 256])
def test_a_call_id_longer_than_openais_is_accepted(length: int) -> None:
    plan = read(history(asked(call("c" * length)), result("c" * length)))
    assert plan.outgoing.messages[1].call_id == "c" * length


@pytest.mark.parametrize("field", ["model", "messages"])
def test_what_every_request_needs_is_asked_for_by_name(field: str) -> None:
    assert shown(refusal(body(**{field: ABSENT})))["param"] == field


def test_what_sdks_echo_back_is_accepted_and_stripped() -> None:
    echo = {
        "refusal": None, "annotations": [], "audio": None, "parsed": None, "function_call": None,
        "reasoning": "x",
    }  # fmt: skip
    echoed_call = {**call(), "index": 0, "call_id": "call_x"}
    echoed_call["function"] = {**echoed_call["function"], "parsed_arguments": {}}
    plan = read(history(USER, asked(echoed_call, **echo), result()))
    message = plan.outgoing.messages[1]
    assert message.calls[0].call_id == "call_x"
    assert message.content is None
