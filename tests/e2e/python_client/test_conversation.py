"""Conversations of the native API: kept by the server, or by the client."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.scripted import ScriptedServer

from toolwire.client import (
    AsyncClient,
    BadRequest,
    Client,
    ConfigurationError,
    Conversation,
    NotFound,
    ToolError,
    tool,
)

CALL = {"calls": [["get_weather", {"city": "Paris"}]]}
STATES = [True, False]


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@tool(name="get_weather")
def no_weather(city: str) -> str:
    """The weather in a city."""
    raise ToolError(f"no station in {city}")


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that keeps conversations in memory."""
    with running("--upstream", backend.url, config='sessions = "memory"\n') as process:
        yield process


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    """A client of it."""
    with Client(f"http://127.0.0.1:{gateway.port}/v1", model="scripted", timeout=10) as client:
        yield client


def _roles(backend: ScriptedServer) -> list[str]:
    """The roles of the messages in the last request that the model got."""
    return [message["role"] for message in json.loads(backend.requests[-1].body)["messages"]]


@pytest.mark.parametrize("stored", STATES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_run_continues_where_the_last_one_ended(
    client: Client, backend: ScriptedServer, *, stored: bool, stream: bool
) -> None:
    backend.use("std", [CALL, "It rains.", "Yes."])
    conversation = client.conversation(stored=stored)
    first = conversation.run("What is the weather in Paris?", [get_weather], stream=stream)
    assert first.text == "It rains."
    assert [call.result.text for call in first.calls] == ["rain in Paris"]
    again = conversation.run("Really?", [get_weather], stream=stream)
    assert again.text == "Yes."
    assert _roles(backend) == ["user", "assistant", "tool", "assistant", "user"]
    assert (conversation.id is not None) is stored


@pytest.mark.parametrize("stored", STATES)
def test_a_failed_tool_is_told_to_be_one(
    client: Client, backend: ScriptedServer, *, stored: bool
) -> None:
    backend.use("std", [CALL, "No idea."])
    conversation = client.conversation(stored=stored)
    conversation.run("Weather?", [no_weather])
    assert "no station in Paris" in json.loads(backend.requests[-1].body)["messages"][-1]["content"]
    kept = conversation.history()["messages"] if stored else conversation._state._history
    results = [said for said in kept if isinstance(said, dict) and said["role"] == "tool"]
    assert [result["is_error"] for result in results] == [True]


def test_only_what_is_new_is_sent(client: Client, backend: ScriptedServer) -> None:
    backend.use("std", [CALL, "It rains."])
    conversation = client.conversation("by-hand")
    asked = conversation.chat("Weather in Paris?", tools=[get_weather])
    (call,) = asked.tool_calls
    assert call.function.arguments == '{"city":"Paris"}'
    told = conversation.chat(tool_results=[{"tool_call_id": call.id, "content": {"mm": 3}}])
    assert told.text == "It rains."
    kept = conversation.history()
    assert [message["role"] for message in kept["messages"]] == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip


def test_another_client_continues_by_the_id(
    client: Client, gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", ["One.", "Two."])
    first = client.conversation()
    first.chat("a")
    assert first.id is not None
    with Client(f"http://127.0.0.1:{gateway.port}/v1") as other:
        assert other.conversation(first.id).chat("b").text == "Two."
    assert _roles(backend) == ["user", "assistant", "user"]


def test_a_conversation_that_was_deleted_is_gone(client: Client, backend: ScriptedServer) -> None:
    backend.use("std", ["One."])
    conversation = client.conversation("short-lived")
    conversation.chat("a")
    conversation.delete()
    with pytest.raises(NotFound):
        conversation.history()


def test_nothing_is_kept_before_the_first_turn(client: Client) -> None:
    with pytest.raises(ConfigurationError, match="keeps nothing"):
        client.conversation().history()


def test_what_the_model_got_wrong_is_an_error_that_says_what_it_said(
    client: Client, backend: ScriptedServer
) -> None:
    backend.use("std", [{"calls": [["get_weather", {"town": 7}]]}] * 3)
    with pytest.raises(BadRequest) as caught:
        client.conversation().chat("Weather?", tools=[get_weather])
    assert caught.value.status == 422
    assert "town" in str(caught.value.body)


@pytest.mark.parametrize("stored", STATES)
@pytest.mark.parametrize("stream", [False, True])
def test_it_works_in_async_programs(
    gateway: Gateway, backend: ScriptedServer, *, stored: bool, stream: bool
) -> None:
    backend.use("std", [CALL, "It rains.", "Yes."])

    async def talk() -> list[Any]:
        url = f"http://127.0.0.1:{gateway.port}/v1"
        async with AsyncClient(url, model="scripted", timeout=10) as client:
            conversation = client.conversation(stored=stored)
            one = await conversation.run("Weather?", [get_weather], stream=stream)
            two = await conversation.chat("Really?")
            if stored:
                assert len((await conversation.history())["messages"]) == 6
                await conversation.delete()
            return [one.text, two.text]

    assert asyncio.run(talk()) == ["It rains.", "Yes."]


def test_a_conversation_streams(client: Client, backend: ScriptedServer) -> None:
    backend.use("std", ["One two three."])
    conversation: Conversation = client.conversation()
    with conversation.chat("Count.", stream=True) as stream:
        assert "".join(stream.text()) == "One two three."
        assert stream.final().choices[0].finish_reason == "stop"
    assert conversation.id is not None


def test_an_async_hook_of_a_conversation_is_awaited(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("std", ["Hello."])
    seen: list[str] = []

    async def on_event(event: Any) -> None:
        seen.append(type(event).__name__)

    async def talk() -> None:
        url = f"http://127.0.0.1:{gateway.port}/v1"
        async with AsyncClient(url, model="scripted", timeout=10) as client:
            await client.conversation().run("Hi.", on_event=on_event)

    asyncio.run(talk())
    assert seen == ["TurnStarted", "TurnFinished", "RunFinished"]
