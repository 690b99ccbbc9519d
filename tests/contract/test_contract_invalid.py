"""What OpenAI refuses is refused: with the right type, param and code, and never forwarded."""

from typing import Any

import pytest
from tests.contract.chatting import Backend, chat
from tests.contract.wire import USER, asked, body, call, history, result, tool

MISSING, TYPE, VALUE = "missing_required_parameter", "invalid_type", "invalid_value"
SCHEMA = "invalid_function_parameters"
LONG = "string_above_max_length"
PARAMETERS = "tools[0].function.parameters"


def named(name: Any) -> dict[str, Any]:
    """The nested form of a named tool_choice."""
    return {"type": "function", "function": {"name": name}}


def strict(**schema: Any) -> dict[str, Any]:
    """A body with one strict tool."""
    closed = {"type": "object", "additionalProperties": False, "properties": {}, "required": []}
    return {"tools": [tool(parameters={**closed, **schema}, strict=True)]}


def allowed(*tools: Any, mode: Any = "auto") -> dict[str, Any]:
    """A body that allows some of its tools."""
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": list(tools)}}
    return {"tools": [tool()], "tool_choice": choice}


# name -> (body, param, code)
CASES: dict[str, tuple[bytes, str | None, str | None]] = {
    # The body.
    "an array": (b"[1, 2]", "body", TYPE),
    "a string": (b'"x"', "body", TYPE),
    "null": (b"null", "body", TYPE),
    "empty": (b"", None, None),
    "two objects": (b"{}{}", None, None),
    "a trailing comma": (b'{"model":"m",}', None, None),
    "single quotes": (b"{'model':'m'}", None, None),
    "NaN": (b'{"model":"m","messages":[],"temperature":NaN}', None, None),
    "Infinity": (b'{"model":"m","messages":[],"temperature":Infinity}', None, None),
    "out of range": (b'{"model":"m","messages":[],"temperature":1e999}', "temperature", VALUE),
    "Latin-1": ('{"model":"é"}'.encode("latin-1"), None, None),
    "a lone surrogate": (b'{"model":"\\ud800","messages":[]}', None, None),
    # The model.
    "no model": (b'{"messages":[]}', "model", MISSING),
    "model as a number": (body(model=5), "model", TYPE),
    "model null": (body(model=None), "model", TYPE),
    "model empty": (body(model=""), "model", VALUE),
    "model too long": (body(model="m" * 257), "model", VALUE),
    # Messages.
    "no messages": (b'{"model":"m"}', "messages", MISSING),
    "messages null": (body(messages=None), "messages", TYPE),
    "messages an object": (body(messages={}), "messages", TYPE),
    "messages a string": (body(messages="hello"), "messages", TYPE),
    "messages empty": (body(messages=[]), "messages", "empty_array"),
    "too many messages": (body(messages=[USER] * 10_001), "messages", "array_above_max_length"),
    "message a string": (history("hello"), "messages[0]", TYPE),
    "no role": (history({"content": "x"}), "messages[0].role", MISSING),
    "role a number": (history({"role": 1, "content": "x"}), "messages[0].role", TYPE),
    "role function": (history({"role": "function", "content": "x"}), "messages[0].role", VALUE),
    "user without content": (history({"role": "user"}), "messages[0].content", MISSING),
    "user content null": (history({"role": "user", "content": None}), "messages[0].content", TYPE),
    "system content a number": (
        history({"role": "system", "content": 1.5}), "messages[0].content", TYPE,
    ),
    "part a number": (
        history({"role": "user", "content": [1]}), "messages[0].content[0]", TYPE,
    ),
    "part without type": (
        history({"role": "user", "content": [{}]}), "messages[0].content[0].type", MISSING,
    ),
    "part with a number for a type": (
        history({"role": "user", "content": [{"type": 1}]}), "messages[0].content[0].type", TYPE,
    ),
    "name a number": (
        history({"role": "user", "content": "x", "name": 5}), "messages[0].name", TYPE,
    ),
    # Calls in the history.
    "tool_calls an object": (
        history({"role": "assistant", "tool_calls": {}}), "messages[0].tool_calls", TYPE,
    ),
    "call without id": (
        history(asked({"type": "function", "function": {"name": "f", "arguments": "{}"}})),
        "messages[0].tool_calls[0].id", MISSING,
    ),
    "call with an empty id": (
        history(asked(call(""))), "messages[0].tool_calls[0].id", "empty_string",
    ),
    "call id a number": (
        history(asked({**call(), "id": 7})), "messages[0].tool_calls[0].id", TYPE,
    ),
    "call without function": (
        history(asked({"id": "a", "type": "function"})),
        "messages[0].tool_calls[0].function", MISSING,
    ),
    "custom call without custom": (
        history(asked({**call(), "type": "custom"})),
        "messages[0].tool_calls[0].custom", MISSING,
    ),
    "call without name": (
        history(asked({"id": "a", "function": {"arguments": "{}"}})),
        "messages[0].tool_calls[0].function.name", MISSING,
    ),
    "call with an empty name": (
        history(asked(call(name=""))),
        "messages[0].tool_calls[0].function.name", "empty_string",
    ),
    "call name too long": (
        history(asked(call(name="f" * 65))), "messages[0].tool_calls[0].function.name", LONG,
    ),
    "call without arguments": (
        history(asked({"id": "a", "function": {"name": "f"}})),
        "messages[0].tool_calls[0].function.arguments", MISSING,
    ),
    "arguments an object": (
        history(asked({"id": "a", "function": {"name": "f", "arguments": {}}})),
        "messages[0].tool_calls[0].function.arguments", TYPE,
    ),
    "one id twice in a message": (
        history(asked(call("a"), call("a")), result("a")), "messages[0].tool_calls[1].id", VALUE,
    ),
    "one id twice in a conversation": (
        history(asked(call("a")), result("a"), asked(call("a")), result("a")),
        "messages[2].tool_calls[0].id", VALUE,
    ),
    # Results.
    "result without content": (
        history(asked(call("a")), {"role": "tool", "tool_call_id": "a"}),
        "messages[1].content", MISSING,
    ),
    "result null": (history(asked(call("a")), result("a", None)), "messages[1].content", TYPE),
    "result an object": (history(asked(call("a")), result("a", {})), "messages[1].content", TYPE),
    "result id a number": (
        history(asked(call("a")), {"role": "tool", "tool_call_id": 1, "content": ""}),
        "messages[1].tool_call_id", TYPE,
    ),
    "result first": (history(result("a")), "messages.[0].role", None),
    "result after the user spoke": (
        history(asked(call("a")), result("a"), USER, result("b")), "messages.[3].role", None,
    ),
    "call answered twice": (
        history(asked(call("a")), result("a"), result("a")), "messages.[2].tool_call_id", None,
    ),
    "result of an earlier turn": (
        history(asked(call("a")), result("a"), USER, asked(call("b")), result("a")),
        "messages.[4].tool_call_id", None,
    ),
    "call never answered": (history(USER, asked(call("a"))), "messages.[2].role", None),
    # Tools.
    "tools an object": (body(tools={}), "tools", TYPE),
    "tools a string": (body(tools="f"), "tools", TYPE),
    "tool a string": (body(tools=["f"]), "tools[0]", TYPE),
    "tool without type": (body(tools=[{"function": {"name": "f"}}]), "tools[0].type", MISSING),
    "tool without function": (body(tools=[{"type": "function"}]), "tools[0].function", MISSING),
    "tool without name": (
        body(tools=[{"type": "function", "function": {}}]), "tools[0].function.name", MISSING,
    ),
    "tool name a number": (body(tools=[tool(5)]), "tools[0].function.name", TYPE),  # type: ignore[arg-type]
    "tool name with a space": (body(tools=[tool("a b")]), "tools[0].function.name", VALUE),
    "tool name in Unicode": (body(tools=[tool("é")]), "tools[0].function.name", VALUE),
    "one tool name twice": (body(tools=[tool(), tool()]), "tools[1].function.name", VALUE),
    "description a number": (
        body(tools=[tool(description=5)]), "tools[0].function.description", TYPE,
    ),
    "strict a string": (body(tools=[tool(strict="yes")]), "tools[0].function.strict", TYPE),
    "parameters a list": (body(tools=[tool(parameters=[])]), PARAMETERS, TYPE),
    "schema without type": (body(tools=[tool(parameters={"properties": {}})]), PARAMETERS, SCHEMA),
    "schema of an array": (body(tools=[tool(parameters={"type": "array"})]), PARAMETERS, SCHEMA),
    "schema type outside the list": (
        body(tools=[tool(parameters={"type": "object", "properties": {"a": {"type": "strin"}}})]),
        PARAMETERS, SCHEMA,
    ),
    "schema properties a list": (
        body(tools=[tool(parameters={"type": "object", "properties": []})]), PARAMETERS, SCHEMA,
    ),
    "schema required a string": (
        body(tools=[tool(parameters={"type": "object", "required": "a"})]), PARAMETERS, SCHEMA,
    ),
    "schema with a broken pattern": (
        body(tools=[tool(parameters={"type": "object", "properties": {"a": {"pattern": "("}}})]),
        PARAMETERS, SCHEMA,
    ),
    # tool_choice.
    "choice of an empty set": (body(tools=[], tool_choice="required"), "tool_choice", None),
    "choice a number": (body(tools=[tool()], tool_choice=1), "tool_choice", TYPE),
    "choice a list": (body(tools=[tool()], tool_choice=["f"]), "tool_choice", TYPE),
    "choice of another type": (
        body(tools=[tool()], tool_choice={"type": "mcp"}), "tool_choice.type", VALUE,
    ),
    "choice whose type is a list": (
        body(tools=[tool()], tool_choice={"type": []}), "tool_choice.type", TYPE,
    ),
    "choice without a name": (
        body(tools=[tool()], tool_choice={"type": "function"}),
        "tool_choice.function.name", MISSING,
    ),
    "choice with a number for a name": (
        body(tools=[tool()], tool_choice=named(5)), "tool_choice.function.name", TYPE,
    ),
    "choice of an unknown tool": (
        body(tools=[tool()], tool_choice=named("g")), "tool_choice", None,
    ),
    "allowed tools not an object": (
        body(tools=[tool()], tool_choice={"type": "allowed_tools", "allowed_tools": 1}),
        "tool_choice.allowed_tools", TYPE,
    ),
    "allowed tools without a list": (
        body(tools=[tool()], tool_choice={"type": "allowed_tools", "allowed_tools": {}}),
        "tool_choice.allowed_tools.tools", MISSING,
    ),
    "allowed tools as an object": (
        body(tools=[tool()], tool_choice={"type": "allowed_tools", "allowed_tools": {"tools": {}}}),
        "tool_choice.allowed_tools.tools", TYPE,
    ),
    "allowed tools empty": (body(**allowed()), "tool_choice.allowed_tools.tools", "empty_array"),
    "allowed tool a string": (
        body(**allowed("f")), "tool_choice.allowed_tools.tools[0]", TYPE,
    ),
    "allowed tool whose type is a list": (
        body(**allowed({"type": []})), "tool_choice.allowed_tools.tools[0].type", TYPE,
    ),
    "allowed tool unknown": (body(**allowed(named("g"))), "tool_choice", None),
    "allowed mode outside the list": (
        body(**allowed(named("f"), mode="none")), "tool_choice.allowed_tools.mode", VALUE,
    ),
    "allowed mode a number": (
        body(**allowed(named("f"), mode=1)), "tool_choice.allowed_tools.mode", TYPE,
    ),
    # Strict.
    "strict with a property not required": (
        body(**strict(properties={"a": {"type": "string"}})), PARAMETERS, SCHEMA,
    ),
    "strict with more properties": (body(**strict(additionalProperties=True)), PARAMETERS, SCHEMA),
    # Parameters.
    "stream a string": (body(stream="true"), "stream", TYPE),
    "stream_options a list": (body(stream=True, stream_options=[]), "stream_options", TYPE),
    "include_usage a number": (
        body(stream=True, stream_options={"include_usage": 1}),
        "stream_options.include_usage", TYPE,
    ),
    "parallel_tool_calls a number": (
        body(tools=[tool()], parallel_tool_calls=1), "parallel_tool_calls", TYPE,
    ),
    "temperature a string": (body(temperature="hot"), "temperature", TYPE),
    "temperature true": (body(temperature=True), "temperature", TYPE),
    "temperature below": (body(temperature=-0.1), "temperature", "decimal_below_min_value"),
    "top_p above": (body(top_p=1.1), "top_p", "decimal_above_max_value"),
    "penalty above": (
        body(presence_penalty=2.5), "presence_penalty", "decimal_above_max_value",
    ),
    "max_tokens a decimal": (body(max_tokens=1.5), "max_tokens", TYPE),
    "max_tokens below": (body(max_tokens=-1), "max_tokens", "integer_below_min_value"),
    "max_completion_tokens below": (
        body(max_completion_tokens=0), "max_completion_tokens", "integer_below_min_value",
    ),
    "n below": (body(n=0), "n", "integer_below_min_value"),
    "n above": (body(n=129), "n", "integer_above_max_value"),
    "top_logprobs above": (body(top_logprobs=21), "top_logprobs", "integer_above_max_value"),
    "five stops": (body(stop=list("abcde")), "stop", "array_above_max_length"),
    "stop a number": (body(stop=1), "stop", TYPE),
    "stop with a number": (body(stop=["a", 1]), "stop[1]", TYPE),
    "logit_bias a list": (body(logit_bias=[]), "logit_bias", TYPE),
    "too much metadata": (
        body(metadata={str(at): "x" for at in range(17)}), "metadata", "object_above_max_length",
    ),
    "seed a string": (body(seed="1"), "seed", TYPE),
    "response_format a string": (body(response_format="json"), "response_format", TYPE),
    "functions": (body(functions=[]), "functions", "unsupported_parameter"),
    "function_call": (body(function_call="none"), "function_call", "unsupported_parameter"),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "param", "code"), CASES.values(), ids=CASES)
def test_an_invalid_request_is_refused_and_never_forwarded(
    raw: bytes, param: str | None, code: str | None
) -> None:
    backend = Backend()
    client = chat(raw, backend)
    error = client.json["error"]
    assert client.status == 400, error
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
    assert backend.opened == []


def test_the_table_is_at_least_as_long_as_the_bar_demands() -> None:
    assert len(CASES) >= 37
