"""No schema, call or answer of too many parts makes others wait, or fills the memory (R22)."""

import json
import random
import signal
import socketserver
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.gateway.far_backend import FarBackend, far_backend
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.sizes import FULL, size
from tests.e2e.gateway.watch import pinging
from tests.e2e.gateway.wire import Reply, ask, chat_body
from tests.schemas import FANS, fan, nested, recursive

WORST = 0.25
MEMORY = 20 * 1024
LEVELS = (10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) if FULL else (10, 14, 16, 24)


PATTERN = {"properties": {"p": {"pattern": "(a|b)*a(a|b){300}c"}}}
"""Takes a linear engine 600 steps for each letter of some texts."""


def letters(count: int) -> str:
    return "".join(random.Random(7).choices("ab", k=count))


@pytest.fixture(scope="module")
def wild() -> Iterator[FarBackend]:
    with far_backend() as backend:
        yield backend


@pytest.fixture(scope="module")
def gateway(wild: FarBackend) -> Iterator[Gateway]:
    with running("--upstream", wild.url) as process:
        wild.use("std", ["hi"])
        ask(process.port, chat_body())
        yield process


def called(parameters: Any, *, stream: bool = False, strict: bool = False) -> dict[str, Any]:
    """A request that has a tool `f` with these parameters."""
    function = {"name": "f", "parameters": {"type": "object", **parameters}, "strict": strict}
    return chat_body(tools=[{"type": "function", "function": function}], stream=stream)


def try_out(gateway: Gateway, wild: FarBackend, body: Any, arguments: Any) -> Reply:
    """The answer to a request for which the model calls `f`; nobody waits meanwhile."""
    wild.use("std", [{"calls": [["f", arguments]]}] * 3)
    before = gateway.memory
    with pinging(gateway) as pings:
        reply = ask(gateway.port, body, timeout=60)
    assert pings.count
    assert pings.worst <= WORST
    assert gateway.memory - before <= MEMORY
    return reply


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("keyword", FANS)
def test_a_fan_makes_nobody_wait(
    gateway: Gateway, wild: FarBackend, keyword: str, stream: bool
) -> None:
    statuses = []
    for levels in LEVELS:
        for arguments in ({"p": "x"}, {"p": {"a": 1, "b": 2}}):
            body = called(fan(keyword, levels), stream=stream)
            reply = try_out(gateway, wild, body, arguments)
            statuses.append(reply.status)
            if reply.status == 400:
                assert reply.error["code"] == "invalid_function_parameters"
                assert reply.error["param"] == "tools[0].function.parameters"
                assert "In context=" in reply.error["message"]
    assert set(statuses) <= {200, 400}
    assert statuses[0] == 200 or keyword.startswith("unevaluated")


@pytest.mark.parametrize("ways", [2, 5])
@pytest.mark.parametrize("depth", [5, 12, 60])
def test_recursion_makes_nobody_wait(
    gateway: Gateway, wild: FarBackend, ways: int, depth: int
) -> None:
    reply = try_out(gateway, wild, called(recursive(ways)), {"p": nested(depth)})
    assert reply.status == 200
    assert reply.headers["toolwire-findings"] in (
        "invalid_tool_arguments:f",
        "unchecked_tool_arguments:f",
    )


def test_many_alternatives_for_many_objects_make_nobody_wait(
    gateway: Gateway, wild: FarBackend
) -> None:
    kinds = [
        {"type": "object", "properties": {"k": {"enum": [f"a{n}", f"b{n}"]}}, "required": ["k"]}
        for n in range(100)
    ]
    body = called({"properties": {"p": {"type": "array", "items": {"anyOf": kinds}}}})
    values = [{"k": f"b{n % 100}"} for n in range(30_000)]
    assert try_out(gateway, wild, body, {"p": values}).status == 200
    reply = try_out(gateway, wild, body, {"p": [*values, {"k": "none"}]})
    assert reply.headers["toolwire-findings"] == "invalid_tool_arguments:f"


def test_a_pattern_of_many_states_makes_nobody_wait(gateway: Gateway, wild: FarBackend) -> None:
    reply = try_out(gateway, wild, called(PATTERN), {"p": letters(40_000)})
    assert reply.headers["toolwire-findings"] == "invalid_tool_arguments:f"


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ({"uniqueItems": True}, [(1 << 66) + n for n in range(3_000)]),
        ({"items": {"multipleOf": 1e-300}}, [1e300] * 4_900),
        ({"items": {"multipleOf": 1e-300}}, [1e300] * 60_000),
        ({"items": {"enum": list(range(5_000))}}, [10**3_999] * 50),
        ({"required": [f"n{n}" for n in range(40_000)]}, {}),
    ],
    ids=["unique", "multiple", "many", "long", "required"],
)
def test_numbers_and_names_make_nobody_wait(
    gateway: Gateway, wild: FarBackend, part: Any, value: Any
) -> None:
    body = called({"properties": {"p": part}})
    assert try_out(gateway, wild, body, {"p": value}).status == 200


@pytest.mark.parametrize("keyword", ["required", "type", "enum"])
def test_large_integers_in_a_schema_make_nobody_wait(
    gateway: Gateway, wild: FarBackend, keyword: str
) -> None:
    body = called({"properties": {"p": {keyword: [(1 << 66) + n for n in range(4_000)]}}})
    assert try_out(gateway, wild, body, {}).status == (200 if keyword == "enum" else 400)


@pytest.mark.parametrize("pattern", [r"(?=(a+))\1*b", "(?!b)a", r"^(a+)\1$", "(?<=a)b"])
def test_what_is_not_linear_is_not_run(gateway: Gateway, wild: FarBackend, pattern: str) -> None:
    schema = {"properties": {"p": {"type": "string", "pattern": pattern}}}
    reply = try_out(gateway, wild, called(schema), {"p": "a" * 1_000_000})
    assert reply.status == 200
    assert reply.headers["toolwire-repairs"].startswith("unsupported_pattern:f:")
    schema |= {"required": ["p"], "additionalProperties": False}
    refused = try_out(gateway, wild, called(schema, strict=True), {})
    assert refused.error["code"] == "invalid_function_parameters"
    assert "look-around or a backreference" in refused.error["message"]


@pytest.mark.timeout(300)
def test_a_flood_of_patterns_makes_nobody_wait(gateway: Gateway, wild: FarBackend) -> None:
    wild.use("std", ["hi"])

    def flood(client: int) -> None:
        for turn in range(size(3, 20)):
            patterns = {f"^k{client}_{turn}_{n}[a-z]+$": {"type": "null"} for n in range(3_000)}
            assert ask(gateway.port, called({"patternProperties": patterns}), timeout=60).status

    with pinging(gateway) as pings, ThreadPoolExecutor(8) as clients:
        list(clients.map(flood, range(8)))
    assert pings.worst <= WORST


@contextmanager
def saying(body: bytes) -> Iterator[str]:
    """A server that answers everything with this JSON; its base URL."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            length = 0
            while line := self.rfile.readline().strip().lower():
                if line.startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            self.rfile.read(length)
            head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n"
            self.wfile.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()
        thread.join()


CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLS = {"choices": [{"message": {"tool_calls": [CALL] * 60_000}, "finish_reason": "tool_calls"}]}
CHOICES = {
    "choices": [
        {"index": n, "message": {"content": "x"}, "finish_reason": "stop"} for n in range(80_000)
    ]
}


@pytest.mark.parametrize(("answer", "what"), [(CALLS, "1024 tool calls"), (CHOICES, "128 choices")])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_of_very_many_parts_is_refused(answer: Any, what: str, stream: bool) -> None:
    with saying(json.dumps(answer).encode()) as url, running("--upstream", url) as gateway:
        with pinging(gateway) as pings:
            reply = ask(gateway.port, called({}, stream=stream), timeout=60)
        assert what in reply.error["message"]
        assert reply.status == 502
        assert pings.worst <= WORST


def workers(gateway: Gateway) -> list[int]:
    """The processes that a gateway has for checking."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            mine = f"PPid:\t{gateway.process.pid}\n" in status.read_text()
            if mine and b"validation_worker" in (status.parent / "cmdline").read_bytes():
                found.append(int(status.parent.name))
        except OSError:
            pass
    return found


def test_it_stops_when_told_to_in_the_middle_of_a_check(wild: FarBackend) -> None:
    wild.use("std", [{"calls": [["f", {"p": letters(800_000)}]]}])
    with running("--upstream", wild.url, config="[timeouts]\nshutdown = 0.2\n") as gateway:
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ask, gateway.port, called(PATTERN), timeout=60)
            deadline = time.monotonic() + 30
            while not workers(gateway) and time.monotonic() < deadline:
                time.sleep(0.01)
            busy = workers(gateway)
            time.sleep(0.5)
            gateway.signal(signal.SIGTERM)
            assert gateway.wait(20) == 0
            asked.exception()
        assert busy
        assert not any(Path(f"/proc/{worker}").exists() for worker in busy)


def test_a_call_of_a_strict_tool_that_cannot_be_checked_is_not_delivered(
    gateway: Gateway, wild: FarBackend
) -> None:
    schema = {**PATTERN, "required": ["p"], "additionalProperties": False}
    reply = try_out(gateway, wild, called(schema, strict=True), {"p": letters(800_000)})
    assert (reply.status, reply.error["code"]) == (502, "unchecked_tool_arguments")
    assert "it took more than 2 s" in reply.error["message"]
    loose = try_out(gateway, wild, called(PATTERN), {"p": letters(800_000)})
    assert loose.headers["toolwire-findings"] == "unchecked_tool_arguments:f"
    assert len(loose.json["choices"][0]["message"]["tool_calls"]) == 1
