"""Whatever a backend answers, other clients are served, and the memory comes back (R17, R23)."""

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.watch import pinging
from tests.e2e.gateway.wire import ask
from tests.hard.figures import note

WORST = 0.25
MIB = 1 << 20
CONFIG = """
[retries]
attempts = 0

[sessions]
store = "off"

[[models]]
name = "chat"
backend = {{ url = "{url}", dialect = "openai" }}

[[models]]
name = "claude"
backend = {{ url = "{url}", dialect = "anthropic" }}

[[models]]
name = "prompted"
mode = "prompted"
format = "hermes"
backend = {{ url = "{url}", dialect = "openai" }}
"""
TOOL = {"name": "f", "description": "d", "parameters": {"type": "object"}}


class Hostile(BaseHTTPRequestHandler):
    """Sends the same message to everyone, as one event or as a body."""

    answers: ClassVar[dict[tuple[bool, bool], bytes]] = {}
    """By whether the API is Anthropic's, and whether it is a stream."""

    @classmethod
    def use(cls, message: dict[str, Any]) -> None:
        """Answer with this message from now on."""
        for stream in (False, True):
            cls.answers[False, stream] = openai(message, stream=stream)
            cls.answers[True, stream] = claude(message, stream=stream)

    def do_POST(self) -> None:
        """Answer."""
        asked = self.rfile.read(int(self.headers["content-length"]))
        stream = b'"stream":true' in asked
        data = self.answers[self.path.endswith("/messages"), stream]
        self.send_response(200)
        kind = "text/event-stream" if stream else "application/json"
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def openai(message: dict[str, Any], *, stream: bool) -> bytes:
    """A chat completion, or a stream of it in one chunk."""
    finish = "tool_calls" if "tool_calls" in message else "stop"
    part = "delta" if stream else "message"
    data = json.dumps({"choices": [{"index": 0, part: message, "finish_reason": finish}]}).encode()
    return b"data: %b\n\ndata: [DONE]\n\n" % data if stream else data


def claude(message: dict[str, Any], *, stream: bool) -> bytes:
    """A message, or a stream with one delta for each block."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message.get("content") or ""}]
    for call in message.get("tool_calls", ()):
        written = call["function"]["arguments"]
        blocks.append(
            {"type": "server_tool_use", "id": "s", "name": "s", "input": {}, "_": written}
        )
        blocks.append({"type": "tool_use", "id": "t", "name": "f", "input": {}, "_": written})
    if not stream:
        content = [{**block, "input": {"text": block.pop("_", "")}} for block in blocks]
        return json.dumps(
            {"type": "message", "content": content, "stop_reason": "end_turn"}
        ).encode()
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {}}]
    for index, block in enumerate(blocks):
        delta = {"type": "input_json_delta", "partial_json": block.pop("_", "")}
        if block["type"] == "text":
            delta = {"type": "text_delta", "text": block["text"]}
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}]
    events += [{"type": "message_stop"}]
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)


def text(said: str) -> dict[str, Any]:
    return {"content": said}


def calls(*arguments: str) -> dict[str, Any]:
    function = [{"name": "f", "arguments": written} for written in arguments]
    return {"tool_calls": [{"id": "c", "type": "function", "function": f} for f in function]}


MESSAGES: dict[str, Callable[[], dict[str, Any]]] = {
    "beginnings of markers": lambda: text("<" * (7 * MIB)),
    "markers": lambda: text("<tool_call>" * 600_000),
    "code fences": lambda: text('```json\n{"name":"f","arguments":{}}\n```\n' * 100_000),
    "calls in text": lambda: text('<tool_call>{"name":"f","arguments":{}}</tool_call>' * 90_000),
    "calls cut off in quotes": lambda: text(
        '"<tool_call>\n{"name": "f", "arguments": {"o": ' * 20_000
    ),
    "lines in an open fence": lambda: text(
        '```\n<tool_call>{"name":"f","arguments":{}}</tool_call>\n' + "some words here\n" * 120_000
    ),
    "one line in an open fence": lambda: text(
        '```\n<|tool_calls|>[{"name": "' + '<|tool_calls|>[{"name": "f", "arguments": {}}' * 20_000
    ),
    "brackets": lambda: text('[{"name":' * 500_000),
    "empty arrays": lambda: calls('{"a":[' + "[]," * 1_000_000 + "1]}"),
    "empty objects": lambda: calls('{"a":[' + "{}," * 2_000_000 + "1]}"),
    "nested objects": lambda: calls('{"a":' * 100_000 + "1" + "}" * 100_000),
    "arguments without an end": lambda: calls('{"a":"' + 'x","b' * 500_000),
    "quotes": lambda: calls('{"a":' + '""' * 1_500_000),
    "exponents": lambda: calls('{"a":[' + "1e308," * 250_000 + "1]}"),
    "long numbers": lambda: calls('{"a":[' + ("9" * 4000 + ",") * 1500 + "1]}"),
    "many keys": lambda: calls("{" + ",".join(f'"k{n}":{n}' for n in range(300_000)) + "}"),
    "many calls": lambda: calls(*['{"a":"' + "x" * 6000 + '"}'] * 1000),
}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        with running(config=CONFIG.format(url=url)) as process:
            yield process
            assert process.process.poll() is None, process.log
            assert "Traceback" not in process.log, process.log
        server.shutdown()


def request(path: str, model: str, *, stream: bool) -> dict[str, Any]:
    """A request with a tool, in the form of the API at `path`."""
    body: dict[str, Any] = {"model": model, "stream": stream}
    if path == "/v1/responses":
        return {**body, "input": "x", "tools": [{"type": "function", "strict": False, **TOOL}]}
    body["messages"] = [{"role": "user", "content": "x"}]
    if path == "/v1/messages":
        schema = {"input_schema": TOOL["parameters"]}
        kept = {name: value for name, value in TOOL.items() if name != "parameters"}
        return {**body, "max_tokens": 9, "tools": [{**kept, **schema}]}
    return {**body, "tools": [{"type": "function", "function": TOOL}]}


PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/native/v1/chat")


@pytest.mark.timed
@pytest.mark.parametrize("flood", MESSAGES)
def test_others_do_not_wait(gateway: Gateway, flood: str) -> None:
    Hostile.use(MESSAGES[flood]())
    with pinging(gateway) as watch:
        for number, model in enumerate(("chat", "claude", "prompted")):
            for path in PATHS:
                stream = bool((number + PATHS.index(path)) % 2)
                ask(gateway.port, request(path, model, stream=stream), path=path, timeout=60)
    note(f"{flood}: worst wait {watch.worst * 1000:.0f} ms")
    assert watch.worst < WORST


@pytest.mark.parametrize("flood", ["code fences", "many calls"])
def test_memory_comes_back(gateway: Gateway, flood: str) -> None:
    Hostile.use(text("hi"))
    ask(gateway.port, request(PATHS[0], "chat", stream=True))
    before = gateway.memory
    Hostile.use(MESSAGES[flood]())
    for path in PATHS:
        ask(gateway.port, request(path, "chat", stream=False), path=path, timeout=60)
    deadline = time.monotonic() + 20
    while gateway.memory > before + 20 * 1024 and time.monotonic() < deadline:
        time.sleep(0.2)
    assert gateway.memory <= before + 20 * 1024
