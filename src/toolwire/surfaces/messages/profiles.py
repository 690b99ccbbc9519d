"""Workarounds for particular clients, matched by User-Agent."""

import dataclasses

from msgspec.structs import replace

from toolwire.protocol.content import text_of
from toolwire.protocol.requests import Request
from toolwire.protocol.tools import ToolChoice
from toolwire.surfaces.messages.adapting import adjusted
from toolwire.surfaces.messages.reader import Asked

PLAIN = "default"
CLAUDE_CODE = "claude_code"
_AGENT = "claude-cli/"
_TEXT_ONLY = "Respond with TEXT ONLY. Do NOT call any tools."
"""How Claude Code begins to ask for a summary. It gives up if the model calls a tool instead, as
small models do, so they are not allowed to."""


def profile_for(user_agent: str) -> str:
    """The name of a client's profile."""
    return CLAUDE_CODE if user_agent.startswith(_AGENT) else PLAIN


def fitted(asked: Asked, profile: str) -> Asked:
    """What a client asks for, with the workarounds for it."""
    if profile != CLAUDE_CODE or not _wants_text(asked.request):
        return asked
    without = replace(asked.request, choice=ToolChoice("none"))
    return dataclasses.replace(asked, request=adjusted(without, "tool_choice"))


def _wants_text(request: Request) -> bool:
    last = request.messages[-1]
    return last.role == "user" and _TEXT_ONLY in text_of(last.content)
