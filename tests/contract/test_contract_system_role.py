"""A model without a system role gets the client's system prompt in the first user message."""

from dataclasses import dataclass
from typing import Any

import pytest
from tests.contract.chatting import Backend, Client, Recitation, chat
from tests.contract.wire import USER, asked, body, call, result, tool

from toolwire.backends.base import BackendRequest
from toolwire.errors import UpstreamRefused
from toolwire.protocol.fragments import Fragment

SYSTEM = {"role": "system", "content": "Be brief."}
ANSWER = [[Fragment(text="Hello.")], [Fragment(finish="stop")]]
MODES = pytest.mark.parametrize("mode", ["native", "hybrid", "prompted", "auto"])
OFFERED = pytest.mark.parametrize("tools", [[], [tool()]])


@dataclass
class OnlyTurns(Backend):
    """A backend whose chat template has no system role."""

    words: str = "System role not supported"
    always: bool = False

    async def open(self, outgoing: BackendRequest) -> Recitation:
        refused = self.always or any(said.role == "system" for said in outgoing.messages)
        self.refusal = UpstreamRefused(self.words, status=400) if refused else None
        return await super().open(outgoing)


def ask(backend: Backend, mode: Any, *messages: Any, **fields: Any) -> Client:
    return chat(body(messages=list(messages), **fields), backend, mode=mode)


def roles(client: Client) -> list[list[str]]:
    """The roles of each request that reached the backend."""
    return [[message.role for message in asked.messages] for asked in client.asked]


@MODES
@OFFERED
def test_the_system_prompt_moves_to_the_first_user_message(mode: Any, tools: list[Any]) -> None:
    client = ask(OnlyTurns(ANSWER), mode, SYSTEM, USER, tools=tools)
    assert client.json["choices"][0]["message"]["content"] == "Hello."
    assert roles(client) == [["system", "user"], ["user"]]
    said = str(client.asked[-1].messages[0].content)
    assert said.startswith("Be brief.")
    assert said.endswith(USER["content"])


@MODES
def test_a_refusal_that_remains_is_the_answer(mode: Any) -> None:
    client = ask(OnlyTurns(always=True), mode, SYSTEM, USER)
    assert client.status == 400
    assert "System role not supported" in client.json["error"]["message"]
    assert len(client.asked) == 2


@pytest.mark.parametrize("mode", ["native", "hybrid", "auto"])
def test_what_was_not_sent_is_not_the_reason(mode: Any) -> None:
    words = "Conversation roles must alternate user/assistant/user/assistant/..."
    client = ask(OnlyTurns(words=words, always=True), mode, USER, tools=[tool()])
    assert client.status == 400
    assert len(client.asked) == 1


@dataclass
class OnlyTwoRoles(Backend):
    """A backend that ignores tools, and whose chat template has but users and assistants."""

    async def open(self, outgoing: BackendRequest) -> Recitation:
        said = [message.role for message in outgoing.messages]
        refused = said != ["user", "assistant"] * (len(said) // 2) + ["user"]
        words = "Conversation roles must alternate user/assistant/user/assistant/..."
        self.refusal = UpstreamRefused(words, status=400) if refused else None
        return await super().open(outgoing)


@pytest.mark.parametrize("before", [[], [SYSTEM]])
@OFFERED
def test_a_conversation_with_calls_goes_on_where_there_is_no_tool_role(
    before: list[Any], tools: list[Any]
) -> None:
    conversation = [*before, USER, asked(call()), result()]
    client = ask(OnlyTwoRoles(ANSWER), "auto", *conversation, tools=tools)
    assert client.json["choices"][0]["message"]["content"] == "Hello."
    assert roles(client)[-1] == ["user", "assistant", "user"]
