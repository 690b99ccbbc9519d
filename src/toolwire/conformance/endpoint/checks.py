"""The checks of a live endpoint, in order. Each takes one or two turns, simple enough for a small
model."""

import json
from typing import Any

import jsonschema_rs

from toolwire.conformance.endpoint.answer import EndpointAnswer, streamed, usage_of, whole
from toolwire.conformance.endpoint.client import LiveEndpoint
from toolwire.conformance.endpoint.trial import Check, Fault, Unsure, require
from toolwire.formats import detect_output


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def tool(name: str, *, strict: bool = False, **properties: Any) -> dict[str, Any]:
    """Return a tool whose parameters are all required."""
    schema = _object(**properties)
    function = {"name": name, "description": f"Calls {name}.", "parameters": schema}
    return {"type": "function", "function": {**function, **({"strict": True} if strict else {})}}


TEXT = {"type": "string"}
WEATHER = tool("get_weather", city=TEXT)
TIME = tool("get_time", timezone=TEXT)
REFRESH = tool("refresh")
BOOK = tool(
    "book_hotel", strict=True, city=TEXT, nights={"type": "integer"}, quiet={"type": "boolean"}
)
ORDER = tool(
    "create_order",
    customer=_object(name=TEXT, city=TEXT),
    items={"type": "array", "items": _object(product=TEXT, count={"type": "integer"})},
)
REACH = "tools reach the model"
"""The check that infers tool support from token counts. An actual call proves it."""
SYSTEM = "You are being tested. If the user asks for a tool, call it, with exactly what is asked."
ONE = "Call get_weather for the city Paris."
TWO = "Call get_weather twice, at once, in one answer: for the city Paris and for the city Rome."
RESULT = "It is 21 degrees in Paris."


def messages(text: str) -> list[dict[str, Any]]:
    """Return a conversation that begins with this text."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]


def plain_chat(server: LiveEndpoint) -> None:
    answer = whole(server.chat(messages=messages("Say hello.")))
    require(bool(answer.content.strip()), "the answer has no content")
    require(not answer.calls, "the answer has calls, but there were no tools")
    _finished(answer, "stop", "length")


def tools_reach_the_model(server: LiveEndpoint) -> str:
    body = {"messages": messages("Say hello.")}
    bare, offered = (whole(server.chat(**body, **more)).usage for more in ({}, {"tools": [TIME]}))
    for figures in (bare, offered):
        if not isinstance(figures, dict) or not isinstance(figures.get("prompt_tokens"), int):
            raise Unsure("there is no usage, which would tell")
    less, more = bare["prompt_tokens"], offered["prompt_tokens"]
    require(less != more, f"a prompt has {less} tokens with and without tools: they are left out")
    return f"{more - less:+} tokens"


def single_call(server: LiveEndpoint) -> str:
    answer = whole(server.chat(messages=messages(ONE), tools=[WEATHER, TIME]))
    _called(answer, "get_weather")
    _fits(answer, WEATHER)
    _finished(answer, "tool_calls")
    return f"get_weather({answer.calls[0].function.arguments})"


def no_arguments(server: LiveEndpoint) -> None:
    answer = whole(server.chat(messages=messages("Call refresh."), tools=[REFRESH]))
    _called(answer, "refresh")
    given = answer.calls[0].function.arguments
    require(given != "", 'the arguments are "" and not "{}", which clients cannot decode')


def parallel_calls(server: LiveEndpoint) -> None:
    answer = whole(server.chat(messages=messages(TWO), tools=[WEATHER]))
    _called(answer, "get_weather")
    _fits(answer, WEATHER)
    ids = [call.id for call in answer.calls]
    require(len(set(ids)) == len(ids), f"the ids are not unique: {', '.join(ids)}")
    if len(ids) < 2:
        raise Unsure("the model made one call, not two: it may not do it, or not want to")


def nested(server: LiveEndpoint) -> None:
    text = (
        "Call create_order for the customer Ada in the city Paris, with two items: 3 of the "
        "product pen, and 1 of the product lamp."
    )
    answer = whole(server.chat(messages=messages(text), tools=[ORDER]))
    _called(answer, "create_order")
    _fits(answer, ORDER)


def required(server: LiveEndpoint) -> None:
    answer = whole(
        server.chat(messages=messages("Hello!"), tools=[WEATHER, TIME], tool_choice="required")
    )
    require(bool(answer.calls), "there is no call, though one was required")
    require(set(answer.names) <= {"get_weather", "get_time"}, f"unknown tools: {answer.names}")


def named(server: LiveEndpoint) -> None:
    choice = {"type": "function", "function": {"name": "get_time"}}
    answer = whole(server.chat(messages=messages(ONE), tools=[WEATHER, TIME], tool_choice=choice))
    require(set(answer.names) == {"get_time"}, f"get_time was named, but {_list(answer)} called")
    _fits(answer, TIME)


def none(server: LiveEndpoint) -> None:
    answer = whole(server.chat(messages=messages(ONE), tools=[WEATHER], tool_choice="none"))
    require(not answer.calls, f"{_list(answer)} called, though no call was allowed")
    found = detect_output(answer.content)
    require(
        found is None, "the call came as text instead" + (f" ({found.format})" if found else "")
    )


def strict(server: LiveEndpoint) -> None:
    text = "Call book_hotel: Paris, 3 nights, quiet."
    answer = whole(server.chat(messages=messages(text), tools=[BOOK]))
    _called(answer, "book_hotel")
    _fits(answer, BOOK)


def streamed_call(server: LiveEndpoint) -> None:
    answer = streamed(server.stream(messages=messages(ONE), tools=[WEATHER, TIME]))
    _called(answer, "get_weather")
    _fits(answer, WEATHER)
    _finished(answer, "tool_calls")


def same_both_ways(server: LiveEndpoint) -> str | None:
    body = {"messages": messages(ONE), "tools": [WEATHER, TIME]}
    one, other = whole(server.chat(**body)), streamed(server.stream(**body))
    require(
        bool(one.calls) == bool(other.calls),
        f"whole: {_list(one)} called; streamed: {_list(other)} called",
    )
    require(
        one.finish_reason == other.finish_reason,
        f"finish_reason is {one.finish_reason} whole, {other.finish_reason} streamed",
    )
    if _values(one) != _values(other):
        raise Unsure("the model itself answered differently the second time")
    return None


def streamed_parallel(server: LiveEndpoint) -> None:
    answer = streamed(server.stream(messages=messages(TWO), tools=[WEATHER]))
    _called(answer, "get_weather")
    _fits(answer, WEATHER)
    if len(answer.calls) < 2:
        raise Unsure("the model made one call, not two: it may not do it, or not want to")


def usage(server: LiveEndpoint) -> None:
    body = {"messages": messages("Say hello.")}
    _adds_up(whole(server.chat(**body)).usage, "whole")
    stream = server.stream(**body, stream_options={"include_usage": True})
    streamed(stream)
    _adds_up(usage_of(stream.chunks), "streamed")


def result(server: LiveEndpoint) -> None:
    function = {"name": "get_weather", "arguments": '{"city": "Paris"}'}
    call = {"id": "call_0123456789abcdef", "type": "function", "function": function}
    history = [
        *messages("How warm is it in Paris? Use get_weather, then tell me the number."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": RESULT},
    ]
    answer = whole(server.chat(messages=history, tools=[WEATHER]))
    require(bool(answer.content or answer.calls), "the answer to a result is empty")
    if "21" not in answer.content:
        raise Unsure("the model did not use the result")


def error_body(server: LiveEndpoint) -> None:
    choice = {"type": "function", "function": {"name": "no_such_tool"}}
    body: dict[str, Any] = {"messages": messages(ONE), "tools": [WEATHER], "tool_choice": choice}
    reply = server.chat(**body)
    require(
        400 <= reply.status < 500,
        f"a tool_choice that names no tool is answered with HTTP {reply.status}, not 400",
    )
    error = reply.body.get("error") if isinstance(reply.body, dict) else None
    require(isinstance(error, dict), f'there is no {{"error": {{...}}}}: {reply.text[:80]}')
    missing = [key for key in ("message", "type", "param", "code") if key not in (error or {})]
    require(not missing, f"the error has no {', '.join(missing)}")


def _called(answer: EndpointAnswer, name: str) -> None:
    """Require that the tool was called. If not, say whether the call came back as text."""
    if answer.calls:
        require(set(answer.names) == {name}, f"{name} was asked for, but {_list(answer)} called")
        return
    found = detect_output(answer.content)
    if found:
        raise Fault(f"the call came back as text, in the format {found.format}")
    raise Fault(f"{name} was not called; the answer is {json.dumps(answer.content[:80])}")


def _fits(answer: EndpointAnswer, wanted: dict[str, Any]) -> None:
    schema = wanted["function"]["parameters"]
    for call in answer.calls:
        if not jsonschema_rs.is_valid(schema, call.function.decoded()):
            raise Fault(f"the arguments do not fit the schema: {call.function.arguments[:120]}")


def _finished(answer: EndpointAnswer, *reasons: str) -> None:
    require(
        answer.finish_reason in reasons,
        f"finish_reason is {answer.finish_reason!r}, not {' or '.join(map(repr, reasons))}",
    )


def _adds_up(figures: Any, where: str) -> None:
    require(isinstance(figures, dict), f"{where}: there is no usage")
    prompt, completion = figures.get("prompt_tokens"), figures.get("completion_tokens")
    total = figures.get("total_tokens")
    require(
        isinstance(prompt, int) and isinstance(completion, int) and total == prompt + completion,
        f"{where}: {prompt} and {completion} do not add up to {total}",
    )


def _values(answer: EndpointAnswer) -> list[tuple[str, Any]]:
    return [(call.function.name, call.function.decoded()) for call in answer.calls]


def _list(answer: EndpointAnswer) -> str:
    return f"{', '.join(answer.names) or 'nothing'} was"


_PARSER = "Let the server parse calls (its tool-call parser), or put `toolwire serve` in front."
_HIDDEN = (
    "Its chat template has no tools, or the server does not use it; "
    "`toolwire serve --upstream-mode prompted` in front writes them into the prompt."
)
_FRONT = "The server does not enforce it; `toolwire serve` in front does."
_STREAM = "Its streaming parser is broken; `toolwire serve` in front fixes the stream."

CHECKS = (
    Check(
        "plain chat", plain_chat, "Is this the base URL of a chat API, and the model's name right?"
    ),
    Check("a single call", single_call, _PARSER, proves=REACH),
    Check(REACH, tools_reach_the_model, _HIDDEN),
    Check("a call without arguments", no_arguments, _PARSER),
    Check("parallel calls", parallel_calls, _PARSER),
    Check("nested arguments", nested, _PARSER),
    Check("tool_choice required", required, _FRONT),
    Check("tool_choice of one tool", named, _FRONT),
    Check("tool_choice none", none, _FRONT),
    Check("strict", strict, _FRONT),
    Check("a streamed call", streamed_call, _STREAM),
    Check("streamed as whole", same_both_ways, _STREAM),
    Check("streamed parallel calls", streamed_parallel, _STREAM),
    Check("usage", usage, "Clients that show costs show nothing; `toolwire serve` counts."),
    Check(
        "a result", result, "Does the chat template know role tool? `toolwire serve` can prompt."
    ),
    Check("errors", error_body, "Clients cannot tell users what to do; `toolwire serve` can."),
)
