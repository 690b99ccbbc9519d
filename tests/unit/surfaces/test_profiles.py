"""What particular clients need: Cline 2 above all."""

import json
from typing import Any

import pytest
from tests.contract.chatting import Client, chat, speaking
from tests.contract.joining import join
from tests.contract.wire import USER, asked, body, call, result, tool

from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tool_cache import safe_name
from toolwire.surfaces.profiles import PLAIN, PROFILES, RESULT_ELSEWHERE, profile_for

CLINE_2 = {b"user-agent": b"Cline/3.82.0"}
MCP = "cCCbKf0mcp0ping.now/v1"


@pytest.mark.parametrize(
    ("user_agent", "override", "name"),
    [
        ("Cline/3.82.0", "", "cline2"),
        ("cline/3.0.65", "", "default"),
        ("OpenAI/Python 2.5.0 Cline/", "", "default"),
        ("codex_exec/0.166.0 (Linux)", "", "codex"),
        ("codex_cli_rs/0.166.0", "", "codex"),
        ("codex_vscode/0.166.0", "", "codex"),
        ("claude-cli/2.1.325 (external, sdk-cli)", "", "claude_code"),
        ("", "", "default"),
        ("", "cline2", "cline2"),
        ("Cline/3.82.0", "default", "default"),
        ("Cline/3.82.0", "unheard-of", "cline2"),
    ],
)
def test_a_client_is_known_by_its_user_agent_or_by_what_it_says(
    user_agent: str, override: str, name: str
) -> None:
    assert profile_for(user_agent, override).name == name


def test_no_two_profiles_have_one_name() -> None:
    assert len({profile.name for profile in (PLAIN, *PROFILES)}) == len(PROFILES) + 1


def test_lost_results_point_to_where_they_are() -> None:
    messages = (
        ChatMessage("assistant", "result missing"),
        ChatMessage("tool", "result missing", call_id="a"),
        ChatMessage("tool", "all good", call_id="b"),
        ChatMessage("user", "result missing"),
    )
    repaired = profile_for("Cline/3").repaired(messages)
    assert repaired[1] == ChatMessage("tool", RESULT_ELSEWHERE, call_id="a")
    assert (repaired[0], repaired[2], repaired[3]) == (messages[0], messages[2], messages[3])


@pytest.mark.parametrize("name", ["default", "codex", "claude_code"])
def test_the_results_of_other_clients_stay_as_they_are(name: str) -> None:
    messages = (
        ChatMessage("tool", None, call_id="a"),
        ChatMessage("tool", "result missing", call_id="b"),
    )
    assert profile_for("", name).repaired(messages) == messages


def ask(
    headers: dict[bytes, bytes], *, name: str = MCP, stream: bool = True, **more: Any
) -> Client:
    """A request with an MCP tool, and a backend that calls it by its safe name."""
    calls = (CallFragment(0, "x", safe_name(name), '{"a"'),)
    rest = (CallFragment(0, None, None, ": 1}"),)
    backend = speaking(Fragment(calls=calls), Fragment(calls=rest), Fragment(finish="tool_calls"))
    return chat(body(tools=[tool(name)], stream=stream, **more), backend, headers=headers)


def test_cline_2_gets_call_id_beside_id_in_every_delta_of_a_call() -> None:
    client = ask(CLINE_2)
    deltas = [
        piece
        for chunk in client.chunks
        for piece in chunk["choices"][0]["delta"].get("tool_calls", ())
    ]
    assert len(deltas) == 3
    assert {piece["call_id"] for piece in deltas} == {deltas[0]["id"]}
    assert [piece["id"] for piece in deltas if "id" in piece] == [deltas[0]["id"]]
    assert join(client.chunks)[0].calls[0]["function"]["arguments"] == '{"a": 1}'


def test_nobody_else_does() -> None:
    assert b"call_id" not in ask({}, name="f").written


@pytest.mark.parametrize("stream", [True, False])
def test_an_mcp_name_goes_out_safe_and_comes_back_as_it_was(stream: bool) -> None:
    client = ask(CLINE_2, stream=stream)
    assert list(client.asked[0].tools.tools) == [safe_name(MCP)]
    assert json.dumps(MCP).encode() in client.written
    assert safe_name(MCP).encode() not in client.written


def test_an_mcp_name_of_another_client_is_refused() -> None:
    assert ask({}).status == 400


def test_the_profile_can_be_seen_and_chosen() -> None:
    assert ask(CLINE_2).headers["toolwire-profile"] == "cline2"
    assert ask({b"toolwire-profile": b"cline2"}).headers["toolwire-profile"] == "cline2"
    assert ask({}, name="f").headers["toolwire-profile"] == "default"


def test_a_lost_result_in_cline_2s_history_is_mended_on_the_way() -> None:
    messages = [USER, asked(call(name=MCP)), result(content="result missing"), USER]
    client = ask(CLINE_2, messages=messages)
    assert client.asked[0].messages[2].content == RESULT_ELSEWHERE
