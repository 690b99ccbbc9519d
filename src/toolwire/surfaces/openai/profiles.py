"""What particular clients need: one record each, matched by User-Agent. No `if` about a client
stands anywhere else."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolwire.protocol.chat import Message

RESULT_ELSEWHERE = "The result of this call is in the next user message."


@dataclass(frozen=True, slots=True)
class Profile:
    """One client's needs."""

    name: str
    user_agents: tuple[str, ...] = ()
    """Prefixes of its User-Agent."""
    call_id_in_deltas: bool = False
    """Puts `call_id` beside `id`: without it Cline 2 loses the results of its own calls."""
    lost_result: str | None = None
    """What it sends as the result when it has lost it; the real one is in the next message."""
    lenient_names: bool = False
    """Sends tool names no backend takes (MCP names with `.` and `/`): mapped, and mapped back."""

    def mend(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The history without what this client is known to get wrong."""
        return tuple(
            Message("tool", RESULT_ELSEWHERE, call_id=message.call_id)
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
        lenient_names=True,
    ),
)
_BY_NAME = {profile.name: profile for profile in (PLAIN, *PROFILES)}


def profile_named(name: str) -> Profile:
    """The profile of this name; that of any client if there is none."""
    return _BY_NAME.get(name, PLAIN)


def profile_for(user_agent: str, override: str = "") -> Profile:
    """The profile of a client; `override` (the header `toolwire-profile`) names one instead."""
    if override in _BY_NAME:
        return _BY_NAME[override]
    for profile in PROFILES:
        if user_agent.startswith(profile.user_agents):
            return profile
    return PLAIN
