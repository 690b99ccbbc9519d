"""Workarounds for particular clients: one record each, matched by User-Agent, for every surface. No
other code depends on the client's identity."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from toolwire.protocol.requests import ChatMessage, Request

RESULT_ELSEWHERE = "The result of this call is in the next user message."


class Profile(msgspec.Struct, frozen=True):
    """The workarounds for one client."""

    name: str
    user_agents: tuple[str, ...] = ()
    """Prefixes of its User-Agent."""
    call_id_in_deltas: bool = False
    """Adds `call_id` next to `id`. Without it Cline 2 loses the results of its own calls."""
    lost_result: str | None = None
    """Its placeholder for a lost result; the real one is in the next message."""
    shows_calls: bool = False
    """It displays arguments as they stream, so they are not held until the call is complete."""
    lenient_names: bool = False
    """It sends tool names that backends refuse (MCP names with `.` and `/`), which are mapped."""
    overflow_in_stream: bool = False
    """It recognizes a full context only as a stream event, not as a response status."""

    def adapted(self, request: Request) -> Request:
        """Return the request with this client's known mistakes fixed and its settings applied."""
        if self.shows_calls:
            request = replace(request, shows_calls=True)
        if self.lost_result is not None:
            request = replace(request, messages=self.repaired(request.messages))
        return request

    def repaired(self, messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
        """Return the history with this client's known mistakes fixed."""
        if self.lost_result is None:
            return tuple(messages)
        return tuple(
            ChatMessage("tool", RESULT_ELSEWHERE, call_id=message.call_id)
            if message.role == "tool" and message.content == self.lost_result
            else message
            for message in messages
        )


PLAIN = Profile("default")
PROFILES = (
    Profile(
        "cline2",
        user_agents=("Cline/",),
        call_id_in_deltas=True,
        lost_result="result missing",
        shows_calls=True,
        lenient_names=True,
    ),
    Profile(
        "codex",
        user_agents=("codex_exec/", "codex_cli_rs/", "codex_vscode/", "codex-tui/"),
        lenient_names=True,
        overflow_in_stream=True,
    ),
    Profile("claude_code", user_agents=("claude-cli/",), lenient_names=True),
    Profile("live", shows_calls=True),
)
_BY_NAME = {profile.name: profile for profile in (PLAIN, *PROFILES)}
_USER_AGENTS = tuple(agent for profile in PROFILES for agent in profile.user_agents)


def profile_for(user_agent: str, override: str = "") -> Profile:
    """Return the profile of a client. `override` (the header `toolwire-profile`) wins."""
    if override in _BY_NAME:
        return _BY_NAME[override]
    if not user_agent.startswith(_USER_AGENTS):
        return PLAIN
    for profile in PROFILES:
        if profile.user_agents and user_agent.startswith(profile.user_agents):
            return profile
    return PLAIN
