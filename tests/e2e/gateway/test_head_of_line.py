"""One peer's huge request or answer never makes another client wait (R17)."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from tests.e2e.gateway import sizes
from tests.e2e.gateway.far_backend import FarBackend, far_backend
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import tool
from tests.e2e.gateway.watch import pinging, streaming
from tests.e2e.gateway.wire import ask, chat_body, connected, request_bytes
from tests.hard.figures import note

WORST = 0.25
RESPONSES = "/v1/responses"
MIB = 1 << 20
DELTAS = sizes.size(40_000, 1_000_000)
MODELS = """
[[models]]
name = "calm"
backend = {{ url = "{calm}" }}

[[models]]
name = "wild"
backend = {{ url = "{wild}" }}

[[models]]
name = "held"
mode = "prompted"
backend = {{ url = "{wild}", dialect = "vllm" }}
"""


@pytest.fixture(scope="module")
def wild() -> Iterator[FarBackend]:
    """The backend that misbehaves."""
    with far_backend() as backend:
        yield backend


@pytest.fixture(scope="module")
def gateway(wild: FarBackend) -> Iterator[Gateway]:
    """A Toolwire with a calm backend, whose stream never rests, and a wild one."""
    with far_backend() as calm:
        calm.use("slow:10", [{"text": "tick " * 5000}])
        with running(config=MODELS.format(calm=calm.url, wild=wild.url)) as process:
            yield process


def user(content: Any) -> dict[str, Any]:
    """A message of the user's."""
    return {"role": "user", "content": content}


def large_message() -> dict[str, Any]:
    """Almost 10 MiB in one text."""
    return chat_body(messages=[user("x\n" * (10 * MIB // 3 - 100))])


def many_messages() -> dict[str, Any]:
    """50,000 messages, more than the limit."""
    return chat_body(messages=[user("x")] * 50_000)


def long_conversation() -> dict[str, Any]:
    """3,300 calls and their results, about 5 MiB."""
    messages = [user("go")]
    for number in range(3300):
        function = {"name": "f", "arguments": json.dumps({"a": list(range(20))})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        result = {"role": "tool", "tool_call_id": f"call_{number}", "content": "y" * 1400}
        messages.append(result)
    return chat_body(messages=messages)


def many_parts() -> dict[str, Any]:
    """45,000 parts of one message, about 10 MiB."""
    return chat_body(messages=[user([{"type": "text", "text": "x" * 190}] * 45_000)])


def large_tools() -> dict[str, Any]:
    """128 tools of 400 properties."""
    properties = {f"p{n}": "string" for n in range(400)}
    return chat_body(tools=[tool(f"t{n}", **properties) for n in range(128)])


def large_form() -> dict[str, Any]:
    """A form of 9 MiB for text, beside a tool."""
    text = {"type": "string", "description": "x" * 160}
    schema = {"type": "object", "properties": {f"property_{n}": text for n in range(45_000)}}
    form = {"type": "json_schema", "json_schema": {"name": "form", "schema": schema}}
    return chat_body(response_format=form, tools=[tool("f", a="string")])


REQUESTS: list[tuple[Callable[[], dict[str, Any]], int]] = [
    (large_message, 200),
    (many_messages, 400),
    (long_conversation, 200),
    (many_parts, 200),
    (large_tools, 200),
    (large_form, 200),
]


@pytest.mark.parametrize("model", ["wild", "held"])
@pytest.mark.parametrize(("make", "status"), REQUESTS)
def test_a_huge_request_makes_nobody_wait(
    gateway: Gateway, wild: FarBackend, make: Callable[[], dict[str, Any]], status: int, model: str
) -> None:
    wild.use("std", ["hi"])
    data = json.dumps({**make(), "model": model}).encode()
    with streaming(gateway, "calm") as stream, pinging(gateway) as pings:
        assert ask(gateway.port, data).status == status
    assert pings.worst <= WORST
    assert stream.worst <= WORST
    assert pings.count


def wide(size: int) -> dict[str, int]:
    """An object with so many members."""
    return {f"k{number}": number for number in range(size)}


def schema(**keywords: Any) -> dict[str, Any]:
    """A body with a tool whose parameters have these keywords."""
    function = {"name": "f", "parameters": {"type": "object", **keywords}}
    return chat_body(tools=[{"type": "function", "function": function}])


def said(**fields: Any) -> dict[str, Any]:
    """A body with a message of the assistant's that has these fields."""
    return chat_body(messages=[user("x"), {"role": "assistant", "content": "y", **fields}])


def called(arguments: Any) -> dict[str, Any]:
    """A body in which a call with these arguments was made three times, and never fits."""
    function = {"name": "f", "arguments": json.dumps(arguments)}
    body = schema(required=["never"])
    for number in range(3):
        call = {"id": f"call_{number}", "type": "function", "function": function}
        body["messages"] += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "no"},
        ]
    return body


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
# So many members of objects as fit into 10 MiB, and almost as many as the limit allows.
MOST, ALLOWED = 550_000, 140_000
WIDE: dict[str, Callable[[int], dict[str, Any]]] = {
    "body": lambda n: {**chat_body(), **wide(n)},
    "unknown parameter": lambda n: chat_body(weird=wide(n)),
    "arrays in a parameter": lambda n: chat_body(weird=[[]] * (n // 2)),
    "metadata": lambda n: chat_body(metadata=dict.fromkeys(wide(n), "")),
    "response_format": lambda n: chat_body(
        response_format={"type": "json_schema", "json_schema": {"name": "n", "schema": wide(n)}}
    ),
    "tool_choice": lambda n: {**schema(), "tool_choice": wide(n)},
    "part": lambda n: chat_body(messages=[user([{"type": "text", "text": "x", "more": wide(n)}])]),
    "arrays in a part": lambda n: chat_body(
        messages=[user([{"type": "text", "text": "x", "more": [[]] * (n // 2)}])]
    ),
    "parts": lambda n: chat_body(messages=[user([1] * n)]),
    "calls": lambda n: said(tool_calls=[CALL] * (n // 5)),
    "function_call": lambda n: said(function_call=wide(n)),
    "properties": lambda n: schema(properties={f"k{number}": {} for number in range(n // 2)}),
    "enum": lambda n: schema(properties={"a": {"enum": list(range(n))}}),
    "anyOf": lambda n: schema(anyOf=[{}] * (n // 2)),
    "chain of references": lambda n: schema(
        properties={"a": {"$ref": "#/$defs/d0"}},
        **{"$defs": {f"d{k}": {"$ref": f"#/$defs/d{k + 1}"} for k in range(n // 10)}},
    ),
    "arguments": lambda n: called(wide(min(n, 160_000))),
}


@pytest.mark.parametrize("size", [MOST, ALLOWED])
@pytest.mark.parametrize("place", WIDE)
def test_a_wide_request_makes_nobody_wait(
    gateway: Gateway, wild: FarBackend, place: str, size: int
) -> None:
    wild.use("std", ["hi"])
    data = json.dumps({**WIDE[place](size), "model": "wild"}).encode()
    with pinging(gateway) as pings:
        assert ask(gateway.port, data).status in ((400,) if size == MOST else (200, 400))
    assert pings.worst <= WORST
    assert pings.count


@pytest.mark.parametrize(
    ("variant", "stream"),
    [
        ("huge_line:64", True),
        ("flood:15000", True),
        (f"flood:{DELTAS}+joined_events", True),
        ("stream_force+flood:40000+joined_events", False),
    ],
)
@pytest.mark.timeout(sizes.size(120, 900))
def test_a_flooding_backend_makes_nobody_wait(
    gateway: Gateway, wild: FarBackend, variant: str, stream: bool
) -> None:
    wild.use(variant, ["hi there"])
    body = chat_body(model="wild", stream=stream)
    with streaming(gateway, "calm") as calm, pinging(gateway) as pings:
        assert ask(gateway.port, body, timeout=sizes.size(60, 600)).status in (200, 502)
    note(f"{variant}: worst wait {max(pings.worst, calm.worst) * 1000:.0f} ms")
    assert pings.worst <= WORST
    assert calm.worst <= WORST


def test_large_arguments_in_one_piece_make_nobody_wait(gateway: Gateway, wild: FarBackend) -> None:
    wild.use("nonstream_force", [{"calls": [["f", {"code": 'print("x")\n\t' * 50_000}]]}])
    body = chat_body(model="wild", stream=True, tools=[tool("f", code="string")])
    with pinging(gateway) as pings:
        assert ask(gateway.port, body, timeout=60).status == 200
    assert pings.worst <= WORST


def test_many_who_continue_a_large_response_make_nobody_wait(
    gateway: Gateway, wild: FarBackend
) -> None:
    wild.use("std", ["hi"])
    parts = [{"type": "input_text", "text": "x"}] * 45_000
    first = {"model": "wild", "input": [user(parts)]}
    stored = ask(gateway.port, first, path=RESPONSES).json["id"]
    again = {"model": "wild", "input": "x", "previous_response_id": stored, "store": False}
    with pinging(gateway) as pings, ThreadPoolExecutor(32) as clients:
        ask_again = partial(ask, gateway.port, again, path=RESPONSES, timeout=60)
        asked = [clients.submit(ask_again) for _ in range(32)]
        assert [one.result().status for one in asked] == [200] * 32
    note(f"32 who continue a response of 2.5 MB: worst wait {pings.worst * 1000:.0f} ms")
    assert pings.worst <= WORST


def test_a_long_text_of_line_breaks_makes_nobody_wait(gateway: Gateway, wild: FarBackend) -> None:
    wild.use("std", [{"text": "\n" * 4_000_000}])
    body = {"model": "wild", "input": "x", "stream": True, "store": False}
    with pinging(gateway) as pings:
        assert ask(gateway.port, body, path=RESPONSES, timeout=60).status == 200
    assert pings.worst <= WORST


def test_a_reader_that_does_not_read_costs_no_memory(gateway: Gateway, wild: FarBackend) -> None:
    wild.use("flood:200000+joined_events", ["hi there"])
    before = gateway.memory
    with connected(gateway.port, window=4096) as sock, pinging(gateway) as pings:
        sock.sendall(request_bytes(chat_body(model="wild", stream=True)))
        while pings.count < 100:
            assert gateway.memory - before < 20 * 1024
    assert pings.worst <= WORST


def test_a_large_whole_answer_to_a_slow_reader_does_not_stop_the_next_request(
    gateway: Gateway, wild: FarBackend
) -> None:
    wild.use("std", [{"text": "word " * 1_000_000}])
    with connected(gateway.port, window=4096) as sock:
        sock.sendall(request_bytes(chat_body(model="wild")))
        assert sock.recv(10)
        wild.use("std", ["hi"])
        for _ in range(3):
            assert ask(gateway.port, chat_body(model="wild"), timeout=5).status == 200
