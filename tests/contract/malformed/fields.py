"""Fields of the wrong type, out of range, or not there."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.contract.malformed.case import MISSING, TYPE, BadRequest
from tests.contract.wire import ABSENT, asked, body, call, history, result, tool

# Where a value stands: how to put one there, its param, and the kinds of JSON it may be.
_KINDS: dict[str, Any] = {
    "null": None, "bool": True, "int": 7, "decimal": 1.5, "text": "x", "list": [1],
    "object": {"a": 1},
}  # fmt: skip


def _at(**fields: Any) -> Callable[[Any], bytes]:
    """A field of the body."""
    (name,) = fields
    return lambda value: body(**{name: value})


def _message(role: str, field: str, **more: Any) -> Callable[[Any], bytes]:
    return lambda value: history({"role": role, **more, field: value})


def _call(field: str) -> Callable[[Any], bytes]:
    return lambda value: history(asked({**call(), field: value}), result())


def _function(field: str) -> Callable[[Any], bytes]:
    made = call()["function"]
    return lambda value: history(asked({**call(), "function": {**made, field: value}}), result())


def _tool(field: str) -> Callable[[Any], bytes]:
    return lambda value: body(tools=[tool(**{field: value})])


PLACES: tuple[tuple[str, Callable[[Any], bytes], str], ...] = (
    ("model", _at(model=0), "text"),
    ("messages", _at(messages=0), "list"),
    ("tools", _at(tools=0), "list null"),
    ("stream", _at(stream=0), "bool null"),
    ("stream_options", _at(stream_options=0), "object null"),
    ("parallel_tool_calls", _at(parallel_tool_calls=0), "bool null"),
    ("temperature", _at(temperature=0), "int decimal null"),
    ("top_p", _at(top_p=0), "int decimal null"),
    ("n", _at(n=0), "int null"),
    ("max_tokens", _at(max_tokens=0), "int null"),
    ("max_completion_tokens", _at(max_completion_tokens=0), "int null"),
    ("presence_penalty", _at(presence_penalty=0), "int decimal null"),
    ("frequency_penalty", _at(frequency_penalty=0), "int decimal null"),
    ("seed", _at(seed=0), "int null"),
    ("logprobs", _at(logprobs=0), "bool null"),
    ("messages[0].content", _message("user", "content"), "text list"),
    ("messages[0].name", _message("user", "name", content="x"), "text null"),
    ("messages[0].content", _message("system", "content"), "text list"),
    ("messages[0].tool_calls", _message("assistant", "tool_calls"), "list null"),
    ("messages[0].tool_calls[0].id", _call("id"), "text"),
    ("messages[0].tool_calls[0].function", _call("function"), "object null"),
    ("messages[0].tool_calls[0].function.name", _function("name"), "text"),
    ("messages[0].tool_calls[0].function.arguments", _function("arguments"), "text"),
    ("tools[0].function.name", _tool("name"), "text"),
    ("tools[0].function.description", _tool("description"), "text null"),
    ("tools[0].function.strict", _tool("strict"), "bool null"),
    ("tools[0].function.parameters", _tool("parameters"), "object null"),
)


def wrong_types() -> Iterator[BadRequest]:
    """A value of another JSON type, at every place."""
    for number, (param, put, right) in enumerate(PLACES):
        for kind, value in _KINDS.items():
            if kind not in right.split():
                name = f"{param} ({number}) as {kind}"
                yield BadRequest("wrong type", name, put(value), param, TYPE)
    for kind, value in _KINDS.items():
        if kind != "object":
            raw, name = history(value), f"message as {kind}"
            yield BadRequest("wrong type", name, raw, "messages[0]", TYPE)
            yield BadRequest("wrong type", f"tool as {kind}", body(tools=[value]), "tools[0]", TYPE)


def absent() -> Iterator[BadRequest]:
    """A field that must be there is not."""
    bare = {"id": "a", "type": "function"}
    made = {"name": "f", "arguments": "{}"}
    nameless, unargued = {"arguments": "{}"}, {"name": "f"}
    place = "messages[0].tool_calls[0]"
    for param, raw in (
        ("model", body(model=ABSENT)),
        ("messages", body(messages=ABSENT)),
        ("messages[0].role", history({"content": "x"})),
        ("messages[0].content", history({"role": "user"})),
        ("messages[0].content", history({"role": "system"})),
        ("messages[1].tool_call_id", history(asked(call()), {"role": "tool", "content": "x"})),
        ("messages[1].content", history(asked(call()), {"role": "tool", "tool_call_id": "call_x"})),
        (f"{place}.id", history(asked({"function": made}))),
        (f"{place}.function", history(asked(bare))),
        (f"{place}.function.name", history(asked({**bare, "function": nameless}))),
        (f"{place}.function.arguments", history(asked({**bare, "function": unargued}))),
        ("tools[0].type", body(tools=[{"function": {"name": "f"}}])),
        ("tools[0].function", body(tools=[{"type": "function"}])),
        ("tools[0].function.name", body(tools=[{"type": "function", "function": {}}])),
    ):
        yield BadRequest("missing field", f"no {param}: {raw[-60:]!r}", raw, param, MISSING)


_BELOW, _ABOVE = "{}_below_min_value", "{}_above_max_value"
_RANGES: dict[str, tuple[str, float, float]] = {
    "temperature": ("decimal", 0, 2),
    "top_p": ("decimal", 0, 1),
    "presence_penalty": ("decimal", -2, 2),
    "frequency_penalty": ("decimal", -2, 2),
    "n": ("integer", 1, 128),
    "top_logprobs": ("integer", 0, 20),
}


def out_of_range() -> Iterator[BadRequest]:
    """Numbers that are too small or too large, a little or by far."""
    for name, (kind, low, high) in _RANGES.items():
        step = 1 if kind == "integer" else 0.1
        for value in (low - step, low - 1000, -(10**9)):
            raw, code = body(**{name: value}), _BELOW.format(kind)
            yield BadRequest("out of range", f"{name} = {value}", raw, name, code)
        for value in (high + step, high + 1000, 10**9):
            raw, code = body(**{name: value}), _ABOVE.format(kind)
            yield BadRequest("out of range", f"{name} = {value}", raw, name, code)
    for name in ("max_tokens", "max_completion_tokens"):
        for value in (0, -1, -(10**9)):
            raw = body(**{name: value})
            code = _BELOW.format("integer")
            yield BadRequest("out of range", f"{name} = {value}", raw, name, code)
    for name in ("temperature", "n", "seed", "max_tokens"):
        for number in ("NaN", "-Infinity", "Infinity", "01", "1.", "+1", "0x1"):
            raw = body(**{name: "@"}).replace(b'"@"', number.encode())
            yield BadRequest("not a number", f"{name} = {number}", raw)
