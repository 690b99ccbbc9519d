"""Who counts the tokens of a prompt: the server, if it can, and quickly enough."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.e2e.gateway.api_server import serving
from tests.e2e.gateway.messages_server import MessagesServer
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask

MARK = {"cache_control": {"type": "ephemeral"}}
ASKED: Any = {
    "model": "claude",
    "system": [{"type": "text", "text": "Be brief.", **MARK}],
    "messages": [{"role": "user", "content": "one two three"}],
    "tools": [{"name": "read_file", "input_schema": {"type": "object"}, **MARK}],
    "thinking": {"type": "adaptive"},
}
CONFIG = """
[[models]]
name = "claude"
backend = {{ url = "{0}", dialect = "anthropic", model = "claude-x" }}
[[models]]
name = "claude-with-fewer-tools"
tools_denied = ["read_file"]
backend = {{ url = "{0}", dialect = "anthropic" }}
[[models]]
name = "vllm"
backend = {{ url = "{0}", dialect = "vllm" }}
[[models]]
name = "other"
backend = {{ url = "{0}", dialect = "generic" }}
"""


class CountingServer(MessagesServer):
    """A server that counts: every request as 1234, and a text as its words. `delay` is how long
    that takes."""

    request_queue_size = 64
    counts = True
    delay = 0.0

    def handle_error(self, *_: object) -> None:
        """Nobody waits for an answer that is too late."""

    def other(self, path: str, body: Any) -> Any:
        time.sleep(self.delay)
        if self.counts and path == "/v1/messages/count_tokens":
            return {"input_tokens": 1234}
        if self.counts and path == "/tokenize":
            return {"count": len(body["prompt"].split())}
        return None


@pytest.fixture(scope="module")
def server() -> Iterator[CountingServer]:
    with serving(CountingServer) as server:
        yield server


@pytest.fixture(autouse=True)
def _fresh(server: CountingServer) -> None:
    server.reset()
    server.counts, server.delay = True, 0.0


@pytest.fixture(scope="module")
def gateway(server: CountingServer) -> Iterator[Gateway]:
    with running(config=CONFIG.format(server.url)) as process:
        yield process


def count(gateway: Gateway, headers: dict[str, str] | None = None, **fields: Any) -> int:
    body = json.dumps({**ASKED, **fields}).encode()
    reply = ask(gateway.port, body, path="/v1/messages/count_tokens", headers=headers)
    assert reply.status == 200, reply.body
    (tokens,) = reply.json.values()
    return int(tokens)


def test_a_server_of_the_same_api_counts_what_it_would_be_sent(
    gateway: Gateway, server: CountingServer
) -> None:
    more = {"metadata": {"user_id": "u"}, "temperature": 0.5, "max_tokens": 9, "stream": True}
    assert count(gateway, {"anthropic-beta": "a-1"}, **more) == 1234
    assert server.bodies == [{**ASKED, "model": "claude-x"}]
    assert server.heads[0]["anthropic-beta"] == "a-1"


def test_tools_that_a_route_leaves_out_are_not_counted(
    gateway: Gateway, server: CountingServer
) -> None:
    assert count(gateway, model="claude-with-fewer-tools") == 1234
    assert "tools" not in server.bodies[0]


def test_a_server_with_a_tokenizer_counts_the_text(
    gateway: Gateway, server: CountingServer
) -> None:
    with_tool, without = count(gateway, model="vllm"), count(gateway, model="vllm", tools=[])
    assert without == 5 + 2 * 4
    assert with_tool > without
    image = {"type": "image", "source": {"type": "url", "url": "http://x/y.png"}}
    shown = count(gateway, model="vllm", tools=[], messages=[{"role": "user", "content": [image]}])
    assert shown > 1000
    assert {body["model"] for body in server.bodies} == {"vllm"}


@pytest.mark.parametrize("model", ["claude", "vllm"])
def test_a_server_that_does_not_count_is_replaced_by_an_estimate(
    gateway: Gateway, server: CountingServer, model: str
) -> None:
    server.counts = False
    assert count(gateway, model=model) == count(gateway, model="other")


def test_so_is_one_that_takes_too_long(gateway: Gateway, server: CountingServer) -> None:
    server.delay = 6
    began = time.monotonic()
    assert count(gateway) != 1234
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("model", ["vllm", "other"])
def test_as_many_as_an_agent_asks_for_at_once_are_counted_at_once(
    gateway: Gateway, server: CountingServer, model: str
) -> None:
    tools = [
        [{"name": f"tool_{n}", "description": "x " * 2000, "input_schema": {"type": "object"}}]
        for n in range(25)
    ]
    server.reset()
    began = time.monotonic()
    with ThreadPoolExecutor(25) as asking:
        counted = list(asking.map(lambda tool: count(gateway, model=model, tools=tool), tools))
    assert time.monotonic() - began < 2
    assert min(counted) > 1000
