"""Workarounds for particular clients of this surface."""

from msgspec.structs import replace

from toolwire.protocol.content import text_of
from toolwire.protocol.requests import Request
from toolwire.protocol.tools import ToolChoice
from toolwire.surfaces.messages.adapting import adjusted
from toolwire.surfaces.messages.reader import ParsedMessagesRequest
from toolwire.surfaces.profiles import Profile

CLAUDE_CODE = "claude_code"
_TEXT_ONLY = "Respond with TEXT ONLY. Do NOT call any tools."
"""The beginning of Claude Code's request for a summary. It gives up if the model calls a tool
instead, as small models do, so tool calls are disabled."""


def fitted(asked: ParsedMessagesRequest, profile: Profile) -> ParsedMessagesRequest:
    """Apply the client's workarounds to its request."""
    request = profile.adapted(asked.request)
    if profile.name == CLAUDE_CODE and _wants_text(request):
        request = adjusted(replace(request, choice=ToolChoice("none")), "tool_choice")
    return asked if request is asked.request else replace(asked, request=request)


def _wants_text(request: Request) -> bool:
    last = request.messages[-1]
    return last.role == "user" and _TEXT_ONLY in text_of(last.content)
