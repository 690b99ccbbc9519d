"""What a backend's error says about what it does not have.

There is no code for that: the words of a refusal decide, and they must be about something that was
sent. Prose where a call is demanded says the same without words.
"""

from collections.abc import Callable

from toolwire.errors import (
    ToolChoiceUnmet,
    ToolsRefused,
    UpstreamError,
    UpstreamRefused,
    UpstreamUnavailable,
)
from toolwire.gateway.strategies.base import Lack

_OF_BACKENDS = (UpstreamError, UpstreamRefused, UpstreamUnavailable)
"""Errors in a backend's own words; the others are about a model's answer, or a key."""
_CONSTRAINTS = ("response_format", "json_schema", "structured_outputs", "grammar", "guided")
_TOOLS = ("tool", "function")
_REFUSING = (
    "not support", "n't support", "no support for", "unsupported", "support tool use",
    "not enabled", "disabled", "not implemented", "not permitted", "not allowed", "requires --",
    "tool-call-parser", "invalid parameter", "unrecognized", "unknown field", "unknown parameter",
    "unknown argument", "unexpected keyword", "unexpected field", "cannot use tools",
)  # fmt: skip
_OF_ONE_REQUEST = ("schema", "context", "tool_call_id", "role")
"""Words of a refusal that is about these tools, or this conversation, and not about tools."""


def refused(error: UpstreamError, sent: Lack) -> Lack | None:
    """`sent`, if the backend turns out not to have it.

    A call of another tool than the one that is demanded does not say so, because whoever makes it
    has tools.
    """
    if isinstance(error, ToolChoiceUnmet):
        return None if error.called and sent == "tools" else sent
    if isinstance(error, ToolsRefused):
        return sent
    if type(error) not in _OF_BACKENDS:
        return None
    words = f"{error.message} {error.param or ''}".casefold()
    return sent if _REFUSED[sent](words) else None


def _refuses_tools(words: str) -> bool:
    return "answered 501" in words or (
        any(word in words for word in _TOOLS)
        and any(word in words for word in _REFUSING)
        and not any(word in words for word in _OF_ONE_REQUEST)
    )


def _refuses_system(words: str) -> bool:
    """No system role, or roles that must alternate, of which a system prompt breaks the order."""
    return (
        "system" in words
        and any(word in words for word in ("role", "prompt", "message"))
        and any(word in words for word in _REFUSING)
    ) or "roles must alternate" in words


def _refuses_constraint(words: str) -> bool:
    return any(word in words for word in _CONSTRAINTS)


_REFUSED: dict[Lack, Callable[[str], bool]] = {
    "tools": _refuses_tools,
    "constraint": _refuses_constraint,
    "union": _refuses_constraint,
    "system": _refuses_system,
}
