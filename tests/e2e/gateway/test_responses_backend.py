"""Clients of every API in front of a server that has only OpenAI's Responses API."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.e2e.gateway.api_server import serving
from tests.e2e.gateway.messages_server import MessagesServer
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.responses_server import KEY, SEALED, THOUGHT, ResponsesServer
from tests.e2e.gateway.wire import Reply, ask, chat_body
from tests.property.surfaces.doors import DOORS, Answer, Door, events_of

from toolwire.server.check import check_backends
from toolwire.server.config.loader import load

CONFIG = """
[[models]]
name = "m"
backend = {{ url = "{url}", dialect = "responses", model = "gpt-x", key_env = "THE_KEY" }}
[retries]
attempts = 0
"""
TOOL = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}
CHAT = DOORS["chat"]
RESPONSES = DOORS["responses"]


@pytest.fixture(scope="module")
def upstream() -> Iterator[ResponsesServer]:
    with serving(ResponsesServer) as server:
        yield server


@pytest.fixture(scope="module")
def gateway(upstream: ResponsesServer) -> Iterator[Gateway]:
    with running(config=CONFIG.format(url=upstream.url), env={"THE_KEY": KEY}) as process:
        yield process


@pytest.fixture(autouse=True)
def _fresh(upstream: ResponsesServer) -> None:
    upstream.reset()


def send(gateway: Gateway, door: Door, history: Sequence[Any], **more: Any) -> Reply:
    body = {**door.body("m", [TOOL], history), **more}
    return ask(gateway.port, body, path=door.path)


def answer(gateway: Gateway, door: Door, history: Sequence[Any], *, stream: bool) -> Answer:
    reply = send(gateway, door, history, stream=stream)
    assert reply.status == 200, reply.body
    return door.streamed(list(events_of(reply.body))) if stream else door.whole(reply.json)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DOORS)
def test_a_task_of_two_turns_is_done_through_every_surface(
    gateway: Gateway, upstream: ResponsesServer, name: str, *, stream: bool
) -> None:
    door = DOORS[name]
    history = [door.user("Read it.")]
    first = answer(gateway, door, history, stream=stream)
    assert first.said.text == "I read it."
    assert first.said.reasoning == THOUGHT
    assert first.said.calls == (("read_file", {"path": "notes.txt"}),)
    results = door.results([(first.calls[0], "a note")])
    last = answer(gateway, door, [*history, *first.echo, *results], stream=stream)
    assert last.said == ("Done.", "", ())
    asked, again = upstream.bodies
    assert asked["instructions"] == again["instructions"]
    assert again["input"][: len(asked["input"])] == asked["input"]
    call, result = again["input"][-2:]
    assert (call["type"], call["name"]) == ("function_call", "read_file")
    assert result == {
        "type": "function_call_output",
        "call_id": call["call_id"],
        "output": "a note",
    }
    assert (asked["model"], asked["store"], asked["stream"]) == ("gpt-x", False, stream)
    assert asked["tools"][0]["name"] == "read_file"


def test_the_key_is_a_bearer(gateway: Gateway, upstream: ResponsesServer) -> None:
    send(gateway, CHAT, [CHAT.user("Read it.")])
    assert upstream.heads[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("stream", [False, True])
def test_encrypted_reasoning_comes_back_to_the_server_that_wrote_it(
    gateway: Gateway, upstream: ResponsesServer, *, stream: bool
) -> None:
    history = [RESPONSES.user("Read it.")]
    first = answer(gateway, RESPONSES, history, stream=stream)
    assert first.echo[0]["encrypted_content"] == SEALED
    results = RESPONSES.results([(first.calls[0], "a note")])
    reply = send(gateway, RESPONSES, [*history, *first.echo, *results])
    assert "toolwire-ignored-params" not in reply.headers
    kinds = [item["type"] for item in upstream.bodies[1]["input"]]
    assert kinds == ["message", "reasoning", "message", "function_call", "function_call_output"]
    assert upstream.bodies[1]["input"][1]["encrypted_content"] == SEALED


def test_fields_of_the_same_api_are_kept(gateway: Gateway, upstream: ResponsesServer) -> None:
    own = {
        "reasoning": {"effort": "low", "summary": "auto"},
        "service_tier": "flex",
        "prompt_cache_key": "thread-1",
        "truncation": "auto",
        "metadata": {"a": "b"},
        "max_tool_calls": 3,
    }
    reply = send(gateway, RESPONSES, [RESPONSES.user("Read it.")], **own)
    assert {name: upstream.bodies[0][name] for name in own} == own
    assert "toolwire-ignored-params" not in reply.headers


def test_what_is_not_sent_is_told(gateway: Gateway, upstream: ResponsesServer) -> None:
    reply = send(gateway, CHAT, [CHAT.user("Read it.")], seed=1, stop=["x"], max_tokens=50)
    assert set(reply.headers["toolwire-ignored-params"].split(", ")) == {"seed", "stop"}
    assert upstream.bodies[0]["max_output_tokens"] == 50


def test_usage_has_cached_and_reasoning_tokens(gateway: Gateway) -> None:
    usage = send(gateway, CHAT, [CHAT.user("Read it.")]).json["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (100, 5)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 90
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 3


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_was_cut_says_so(
    gateway: Gateway, upstream: ResponsesServer, *, stream: bool
) -> None:
    upstream.cut = True
    reply = ask(gateway.port, chat_body(stream=stream))
    choices = events_of(reply.body) if stream else [reply.json]
    reasons = [c["finish_reason"] for e in choices for c in e["choices"] if c["finish_reason"]]
    assert reasons == ["length"]


def test_a_busy_server_is_503(gateway: Gateway, upstream: ResponsesServer) -> None:
    upstream.status = 503
    reply = send(gateway, CHAT, [CHAT.user("Read it.")])
    assert (reply.status, "Overloaded" in reply.error["message"]) == (503, True)


def test_an_error_within_the_stream_ends_it(gateway: Gateway, upstream: ResponsesServer) -> None:
    upstream.breaks = True
    reply = send(gateway, CHAT, [CHAT.user("Read it.")], stream=True)
    assert "Overloaded" in list(events_of(reply.body))[-1]["error"]["message"]


def test_a_stream_without_its_last_event_is_broken(
    gateway: Gateway, upstream: ResponsesServer
) -> None:
    upstream.hangs_up = True
    last = list(events_of(send(gateway, CHAT, [CHAT.user("Read it.")], stream=True).body))[-1]
    assert last["error"]["code"] == "upstream_error"


def test_a_server_without_the_api_is_named() -> None:
    with serving(MessagesServer) as other:
        config = CONFIG.format(url=other.url)
        with running(config=config, env={"THE_KEY": KEY}) as process:
            reply = ask(process.port, chat_body())
    assert reply.status == 404
    assert "has no /responses" in reply.error["message"]


def test_the_check_knows_its_models_and_its_tools(upstream: ResponsesServer) -> None:
    flags = {"upstream": [upstream.url], "upstream_dialect": "responses"}
    (finding,) = check_backends(load(None, env={}, flags=flags))
    assert finding.ok
    assert "models: gpt-x" in finding.text


CHAIN = """
[[models]]
name = "m"
backend = {{ url = "{url}", dialect = "responses" }}
"""


@pytest.fixture(scope="module")
def outer(gateway: Gateway) -> Iterator[Gateway]:
    """Another Toolwire in front of the first one."""
    with running(config=CHAIN.format(url=gateway.url)) as process:
        yield process


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DOORS)
def test_toolwire_in_front_of_toolwire_says_the_same(
    gateway: Gateway, outer: Gateway, name: str, *, stream: bool
) -> None:
    door = DOORS[name]
    history = [door.user("Read it.")]
    direct = answer(gateway, door, history, stream=stream)
    first = answer(outer, door, history, stream=stream)
    assert first.said == direct.said
    results = door.results([(first.calls[0], "a note")])
    last = answer(outer, door, [*history, *first.echo, *results], stream=stream)
    assert last.said == ("Done.", "", ())
