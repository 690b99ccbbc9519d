"""Whatever comes in, the answer is a refusal that says why: soon, and never another error (R4)."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.asking import given
from tests.contract.chatting import Backend, chat, speaking
from tests.contract.wire import READER, USER, asked, body, call, history, result, shown, tool

from toolwire.errors import RequestError
from toolwire.gateway.plan import make_plan
from toolwire.protocol.fragments import Fragment

SOON = 1.0
DEPTHS = (129, 300, 900, 950, 985, 990, 995, 1000, 5_000, 100_000)
ODD_VALUES = {
    "null": None, "false": False, "number": 7, "decimal": -0.5, "text": "x", "empty text": "",
    "list": [1], "empty list": [], "nested list": [[[]]], "object": {"a": 1}, "empty object": {},
}  # fmt: skip


def spliced(path: str, raw: bytes) -> bytes:
    """A good request with this JSON at one of its places."""
    return PLACES[path](b"@").replace(b'"@"', raw)


def good(**changes: Any) -> bytes:
    """A good request that has everything."""
    everything = {
        "messages": [USER, asked(call()), result()],
        "tools": [tool(parameters={"type": "object", "properties": {"a": {"type": "string"}}})],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return body(**{**everything, **changes})


def _message(**fields: Any) -> Callable[[bytes], bytes]:
    return lambda _: history({"role": "user", "content": "x", **fields})


def _call(**fields: Any) -> Callable[[bytes], bytes]:
    return lambda _: history(asked({**call(), **fields}), result())


def _tool(**fields: Any) -> Callable[[bytes], bytes]:
    return lambda _: good(tools=[{**tool(), **fields}], tool_choice="auto")


def _schema(**fields: Any) -> Callable[[bytes], bytes]:
    parameters = {"type": "object", **fields}
    return lambda _: good(tools=[tool(parameters=parameters)])


PLACES: dict[str, Callable[[bytes], bytes]] = {
    **{
        name: lambda _, name=name: good(**{name: "@"})  # type: ignore[misc]
        for name in (
            "model",
            "messages",
            "tools",
            "tool_choice",
            "stream",
            "stream_options",
            "parallel_tool_calls",
            "temperature",
            "top_p",
            "n",
            "max_tokens",
            "stop",
            "seed",
            "logit_bias",
            "metadata",
            "response_format",
            "functions",
            "user",
            "modalities",
        )
    },
    "messages[0]": lambda _: history("@"),
    "messages[0].role": _message(role="@"),
    "messages[0].content": _message(content="@"),
    "messages[0].content[0]": _message(content=["@"]),
    "messages[0].content[0].type": _message(content=[{"type": "@"}]),
    "messages[0].content[0].image_url": _message(content=[{"type": "image_url", "image_url": "@"}]),
    "messages[0].name": _message(name="@"),
    "tool_calls": lambda _: history({"role": "assistant", "tool_calls": "@"}),
    "tool_calls[0]": lambda _: history({"role": "assistant", "tool_calls": ["@"]}),
    "tool_calls[0].id": _call(id="@"),
    "tool_calls[0].type": _call(type="@"),
    "tool_calls[0].function": _call(function="@"),
    "tool_calls[0].function.name": _call(function={"name": "@", "arguments": "{}"}),
    "tool_calls[0].function.arguments": _call(function={"name": "f", "arguments": "@"}),
    "tool_call_id": lambda _: history(asked(call()), result("@")),
    "result": lambda _: history(asked(call()), result(content="@")),
    "tools[0]": lambda _: good(tools=["@"]),
    "tools[0].type": _tool(type="@"),
    "tools[0].function": _tool(function="@"),
    "tools[0].function.name": _tool(function={"name": "@"}),
    "tools[0].function.description": _tool(function={"name": "f", "description": "@"}),
    "tools[0].function.strict": _tool(function={"name": "f", "strict": "@"}),
    "tools[0].function.parameters": _tool(function={"name": "f", "parameters": "@"}),
    "schema.properties": _schema(properties="@"),
    "schema.properties.a": _schema(properties={"a": "@"}),
    "schema.required": _schema(required="@"),
    "schema.type": _schema(properties={"a": {"type": "@"}}),
    "schema.$ref": _schema(properties={"a": {"$ref": "@"}}),
    "schema.$defs": _schema(**{"$defs": "@"}),
    "schema.$defs of an older draft": _schema(
        **{"$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"a": "@"}}
    ),
    "schema.enum": _schema(properties={"a": {"enum": "@"}}),
    "schema.pattern": _schema(properties={"a": {"pattern": "@"}}),
    "tool_choice.type": lambda _: good(tool_choice={"type": "@"}),
    "tool_choice.function": lambda _: good(tool_choice={"type": "function", "function": "@"}),
    "tool_choice.function.name": lambda _: good(
        tool_choice={"type": "function", "function": {"name": "@"}}
    ),
    "tool_choice.allowed_tools": lambda _: good(
        tool_choice={"type": "allowed_tools", "allowed_tools": "@"}
    ),
    "tool_choice.allowed_tools.tools": lambda _: good(
        tool_choice={"type": "allowed_tools", "allowed_tools": {"tools": "@"}}
    ),
    "tool_choice.allowed_tools.tools[0].type": lambda _: good(
        tool_choice={"type": "allowed_tools", "allowed_tools": {"tools": [{"type": "@"}]}}
    ),
    "stream_options.include_usage": lambda _: good(stream_options={"include_usage": "@"}),
    "an unknown parameter": lambda _: good(frobnicate="@"),
}


NOT_SENT_ON = {"stream_options"}
"""Unknown fields in it are of no interest to anyone."""


def deep(depth: int, *, of: bytes = b"[") -> bytes:
    """JSON of this depth."""
    return b"[" * depth + b"]" * depth if of == b"[" else b'{"a":' * depth + b"1" + b"}" * depth


def outcome(raw: bytes) -> str:
    """`accepted`, or the code of a refusal; anything else that is raised is a failure."""
    started = time.process_time()
    refused = _refusal(raw)
    assert time.process_time() - started < SOON
    if refused is None:
        return "accepted"
    assert shown(refused)["status"] == 400
    assert len(refused.message) < 2_000, "what a client sent is not repeated at length"
    return refused.code or "refused"


def _refusal(raw: bytes) -> RequestError | None:
    try:
        make_plan(READER.read(raw), repair_history=False)
    except RequestError as error:
        return error
    return None


@pytest.mark.parametrize("path", PLACES)
def test_any_value_at_any_place_is_accepted_or_refused(path: str) -> None:
    for value in ODD_VALUES.values():
        outcome(spliced(path, json.dumps(value).encode()))


@pytest.mark.parametrize("path", PLACES)
def test_too_deep_a_value_is_refused_at_any_place(path: str) -> None:
    for depth in DEPTHS:
        outcomes = [outcome(spliced(path, deep(depth, of=of))) for of in (b"[", b"{")]
        if path not in NOT_SENT_ON:
            assert "accepted" not in outcomes, depth


@pytest.mark.parametrize("path", PLACES)
def test_a_number_out_of_range_never_does_more_than_be_refused(path: str) -> None:
    for number in (b"1e999", b"-1e999", b"1" * 5_000, b"-" + b"1" * 5_000, b"-0", b"1E-999"):
        outcome(spliced(path, number))
        outcome(spliced(path, b"[" + number + b"]"))
        outcome(spliced(path, b'{"a":' + number + b"}"))


NOT_JSON = {
    "NaN": b"NaN", "Infinity": b"-Infinity", "a leading zero": b"01", "hex": b"0x1",
    "a plus": b"+1", "a bare word": b"yes", "single quotes": b"'x'", "a comment": b"1 /* x */",
    "a lone surrogate": b'"\\ud800"', "half a surrogate pair": b'"\\ud800\\u0041"',
    "a low surrogate first": b'"\\udc00"', "an unknown escape": b'"\\x41"',
    "a raw line end": b'"a\nb"', "a raw NUL": b'"\x00"', "invalid UTF-8": b'"\xff"',
    "an overlong form": b'"\xc0\xaf"', "a UTF-8 surrogate": b'"\xed\xa0\x80"',
    "a trailing comma": b"[1,]",
}  # fmt: skip


@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=NOT_JSON)
def test_what_is_not_json_is_refused_wherever_it_stands(raw: bytes) -> None:
    for path in PLACES:
        assert outcome(spliced(path, raw)) != "accepted", path


def test_a_nul_that_is_written_as_json_is_a_character_like_any_other() -> None:
    assert outcome(spliced("messages[0].content", b'"\\u0000"')) == "accepted"
    assert outcome(spliced("tools[0].function.name", b'"\\u0000"')) == "invalid_value"


@pytest.mark.parametrize("cut", range(0, len(good()), 7))
def test_half_a_request_is_refused(cut: int) -> None:
    assert outcome(good()[:cut]) != "accepted"


def hostile_tools() -> Iterator[tuple[str, Any]]:
    """Schemas that are large, endless, or made to be slow."""
    many = range(20_000)
    yield "huge enum", {"properties": {"a": {"enum": list(range(200_000))}}}
    yield "too large", {"properties": {"a": {"enum": list(range(400_000))}}}
    yield "many properties", {"properties": {f"p{at}": {} for at in many}}
    yield "many dangling refs", {"properties": {f"p{at}": {"$ref": f"#/x{at}"} for at in many}}
    yield "many required", {"required": [f"p{at}" for at in many]}
    yield "ref to itself", {"properties": {"a": {"$ref": "#/properties/a"}}}
    yield "ref loop", {"properties": {"a": {"$ref": "#/properties/b"}, "b": {"$ref": "#"}}}
    yield (
        "wide tree of refs",
        {"$defs": {f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 9} for at in range(50)}},
    )
    yield "exploding pattern", {"properties": {"a": {"pattern": "^(a+)+$"}}}
    yield "huge count", {"properties": {"a": {"pattern": "(((a{1,999}){1,999}){1,999})"}}}
    yield (
        "pattern of Unicode",
        {
            "properties": {
                f"p{at}": {"pattern": rf"^\p{{L}}{{1,{at + 10}}}$"} for at in range(2_000)
            }
        },
    )
    yield (
        "pattern properties of Unicode",
        {"patternProperties": {rf"^\p{{L}}{{1,{at + 10}}}$": {} for at in range(2_000)}},
    )
    yield "long pattern", {"properties": {"a": {"pattern": "a?" * 50_000}}}
    yield "unclosed classes", {"properties": {"a": {"pattern": "[" * 100_000}}}
    yield "unknown dialect", {"$schema": "http://example.invalid/schema"}
    yield "bad id", {"$id": "http://[", "properties": {"a": {"$id": "::"}}}


HOSTILE = dict(hostile_tools())


@pytest.mark.parametrize("schema", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("strict", [False, True])
def test_a_hostile_schema_is_judged_soon(schema: Any, strict: bool) -> None:
    outcome(body(tools=[tool(parameters={"type": "object", **schema}, strict=strict)]))


@pytest.mark.parametrize("n", [10**9, 10**18, 10**19, -1, 0])
def test_no_number_of_choices_gets_past_its_bound(n: int) -> None:
    assert outcome(body(n=n)) != "accepted"


def test_of_a_key_given_twice_one_value_holds_for_all() -> None:
    """What is checked is what is sent: a second `n` cannot hide behind the first."""
    backend = speaking(Fragment(text="x", finish="stop"))
    raw = b'{"model":"m","messages":[{"role":"user","content":"a"}],"n":1000,"n":2,"n":1}'
    assert chat(raw, backend).status == 200
    assert given(backend.opened[0].request) == {"n": 1}


@pytest.mark.parametrize(
    "name", ["x\r\nSet-Cookie: a=b", "x\ny", "é", "a, b", "\x00", "x" * 9_999, "", '"', "%0d%0a"]
)
def test_the_name_of_an_unknown_parameter_cannot_break_out_of_its_header(name: str) -> None:
    backend = Backend([[Fragment(text="x", finish="stop")]], unsupported=frozenset({name}))
    client = chat(body(**{name: 1}), backend)
    value = client.headers["toolwire-ignored-params"]
    assert client.status == 200
    assert value.isascii()
    assert value.isprintable()
    assert len(value) < 500
    assert "," not in value


def test_many_unknown_parameters_are_named_in_brief() -> None:
    names = [f"unknown_{at}" for at in range(900)]
    backend = Backend([[Fragment(text="x", finish="stop")]], unsupported=frozenset(names))
    value = chat(body(**dict.fromkeys(names, 1)), backend).headers["toolwire-ignored-params"]
    assert value.endswith("+868 more")
    assert len(value) < 4_096


def test_there_are_at_least_two_hundred_bad_bodies() -> None:
    depths = 2 * len(DEPTHS) * len(PLACES)
    assert depths + len(NOT_JSON) * len(PLACES) + len(HOSTILE) >= 200
