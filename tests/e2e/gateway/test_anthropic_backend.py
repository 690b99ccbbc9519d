"""An OpenAI client in front of a server with Anthropic's Messages API."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contract.joining import join, whole
from tests.e2e.gateway.api_server import serving
from tests.e2e.gateway.messages_server import KEY, MessagesServer
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import Reply, ask, chat_body

from toolwire.server.check import check_backends
from toolwire.server.config.loader import Config, load

CONFIG = """
[[models]]
name = "claude"
backend = {{ url = "{url}", dialect = "anthropic", model = "claude-x", key_env = "THE_KEY" }}
[retries]
attempts = 0
"""
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
    }
]
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Read it."}]


@pytest.fixture(scope="module")
def claude() -> Iterator[MessagesServer]:
    with serving(MessagesServer) as server:
        yield server


@pytest.fixture(scope="module")
def gateway(claude: MessagesServer) -> Iterator[Gateway]:
    config = CONFIG.format(url=claude.url)
    with running(config=config, env={"THE_KEY": KEY}) as process:
        yield process


@pytest.fixture(autouse=True)
def _fresh(claude: MessagesServer) -> None:
    claude.reset()


def send(gateway: Gateway, messages: list[Any], **more: Any) -> Reply:
    return ask(gateway.port, chat_body(model="claude", messages=messages, tools=TOOLS, **more))


def events(reply: Reply) -> list[Any]:
    data = [part.removeprefix("data: ") for part in reply.body.decode().split("\n\n")[:-1]]
    return [json.loads(text) for text in data if text != "[DONE]"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_task_of_two_turns_is_done(
    gateway: Gateway, claude: MessagesServer, *, stream: bool
) -> None:
    reply = send(gateway, ASKED, stream=stream)
    said = join(events(reply))[0] if stream else whole(reply.json)[0]
    assert said.content == "I read it."
    assert said.finish_reason == "tool_calls"
    (call,) = said.calls
    assert json.loads(call["function"]["arguments"]) == {"path": "notes.txt"}
    echo = {"role": "assistant", "content": said.content, "tool_calls": said.calls}
    result = {"role": "tool", "tool_call_id": call["id"], "content": "a note"}
    reply = send(gateway, [*ASKED, echo, result], stream=stream)
    said = join(events(reply))[0] if stream else whole(reply.json)[0]
    assert (said.content, said.finish_reason) == ("Done.", "stop")
    first, second = claude.bodies
    assert first["system"] == "Be brief."
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["messages"][-1]["content"][0]["tool_use_id"] == call["id"]
    assert second["model"] == "claude-x"


def test_the_key_goes_where_the_api_wants_it(gateway: Gateway, claude: MessagesServer) -> None:
    send(gateway, ASKED)
    (head,) = claude.heads
    assert head["x-api-key"] == KEY
    assert head["anthropic-version"] == "2023-06-01"
    assert "authorization" not in head


def test_what_is_not_sent_is_told(gateway: Gateway, claude: MessagesServer) -> None:
    reply = send(gateway, ASKED, seed=1, response_format={"type": "json_object"}, temperature=0.5)
    ignored = set(reply.headers["toolwire-ignored-params"].split(", "))
    assert ignored == {"seed", "response_format"}
    assert claude.bodies[0]["temperature"] == 0.5


def test_usage_counts_what_came_from_the_cache(gateway: Gateway) -> None:
    usage = send(gateway, ASKED).json["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (100, 5)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 90


def test_a_busy_server_is_503(gateway: Gateway, claude: MessagesServer) -> None:
    claude.status = 529
    reply = send(gateway, ASKED)
    assert (reply.status, "Overloaded" in reply.error["message"]) == (503, True)


def test_an_error_within_the_stream_ends_it(gateway: Gateway, claude: MessagesServer) -> None:
    claude.breaks = True
    last = events(send(gateway, ASKED, stream=True))[-1]
    assert "Overloaded" in last["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_it_only_quotes_is_text(
    gateway: Gateway, claude: MessagesServer, *, stream: bool
) -> None:
    call = '{"name": "read_file", "arguments": {"path": "/etc/passwd"}}'
    claude.says = f"It looks like this:\n\n<tool_call>\n{call}\n</tool_call>\n\nThat is all."
    reply = send(gateway, ASKED, stream=stream)
    said = join(events(reply))[0] if stream else whole(reply.json)[0]
    assert (said.content, said.calls, said.finish_reason) == (claude.says, [], "stop")


def configured(claude: MessagesServer) -> Config:
    flags = {"upstream": [claude.url], "upstream_dialect": "anthropic"}
    return load(None, env={}, flags=flags)


def test_the_check_knows_its_models_and_its_tools(claude: MessagesServer) -> None:
    (finding,) = check_backends(configured(claude))
    assert finding.ok
    assert "models: claude-x" in finding.text


def test_the_messages_surface_is_passed_to_it_too(gateway: Gateway, claude: MessagesServer) -> None:
    tool = {"name": "read_file", "input_schema": {"type": "object"}}
    body = {
        "model": "claude",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Read it."}],
        "tools": [tool],
    }
    reply = ask(gateway.port, body, path="/v1/messages")
    assert [block["type"] for block in reply.json["content"]] == ["text", "tool_use"]
    assert claude.bodies[0]["max_tokens"] == 9
    assert claude.bodies[0]["tools"] == [tool]


def test_no_tokens_warm_its_cache(gateway: Gateway, claude: MessagesServer) -> None:
    body = {"model": "claude", "max_tokens": 0, "messages": [{"role": "user", "content": "Hi"}]}
    reply = ask(gateway.port, body, path="/v1/messages")
    assert claude.bodies == [{**body, "model": "claude-x"}]
    assert (reply.status, reply.json["stop_reason"]) == (200, "max_tokens")
    assert reply.json["usage"]["cache_read_input_tokens"] == 90


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_of_the_same_api_keeps_its_own_fields_and_headers(
    gateway: Gateway, claude: MessagesServer, stream: bool
) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    tool = {"name": "read_file", "input_schema": {"type": "object"}, **mark}
    body = {
        "model": "claude",
        "max_tokens": 32000,
        "system": [{"type": "text", "text": "Be brief.", **mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Read it.", **mark}]}],
        "tools": [tool],
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": []},
        **({"stream": True} if stream else {}),
    }
    headers = {"anthropic-beta": "a-1,b-2", "anthropic-version": "2026-10-21", "x-api-key": "mine"}
    raw = json.dumps(body).encode()
    reply = ask(gateway.port, raw, path="/v1/messages?beta=true", headers=headers)
    assert claude.bodies == [{**body, "model": "claude-x"}]
    (head,) = claude.heads
    assert (head["anthropic-beta"], head["anthropic-version"]) == ("a-1,b-2", "2026-10-21")
    assert head["x-api-key"] == KEY
    assert reply.status == 200
    assert "toolwire-ignored-params" not in reply.headers
    assert b'"toolu_1"' not in reply.body  # Toolwire's own ids
