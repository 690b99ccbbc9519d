"""Recognizes errors that show which feature a backend lacks.

There is no error code for that, so the wording decides, and it must concern something that was
sent. Prose in place of a required call counts as well.
"""

import re
from collections.abc import Callable

from toolwire.errors import (
    ToolChoiceUnmet,
    ToolsRefused,
    UpstreamError,
    UpstreamRefused,
    UpstreamUnavailable,
)
from toolwire.gateway.observer import Lack

_OF_BACKENDS = (UpstreamError, UpstreamRefused, UpstreamUnavailable)
"""Errors with a backend's own wording. Others concern a model's answer, or a key."""
_CONSTRAINTS = ("response_format", "json_schema", "structured_outputs", "grammar", "guided")
_TOOLS = ("tool", "function")
_REFUSING = (
    "not support", "n't support", "no support for", "unsupported", "support tool use",
    "not enabled", "disabled", "not implemented", "not permitted", "not allowed", "requires --",
    "not yet implemented", "not yet supported",
    "tool-call-parser", "invalid parameter", "unrecognized", "unknown field", "unknown parameter",
    "unknown argument", "unexpected keyword", "unexpected field", "cannot use tools",
)  # fmt: skip
_CALLING = r"(?:tool|function)[ -]?(?:use|calls?|calling)"
_ALL_TOOLS = rf"(?:tools|functions|{_CALLING})"
_PARAM = r"(?:parameters?|property|properties|arguments?|field|name)\W{0,4}tools\b(?!\[|\.\w)"
_NO_TOOLS = (
    rf"\b{_ALL_TOOLS} (?:(?:is|are) (?:currently )?(?:not available|unavailable)"
    r"|(?:is|are)n't (?:currently )?available)",
    rf"(?:\bno|\black(?:s|ing)?|(?:not|n't) have) (?:any |native )?(?:tool|function|{_CALLING}) "
    r"(?:support|capabilit|abilit)",
    r"(?:cannot|can't|can not) call (?:functions|tools)\b",
    rf"\b(?:unexpected|(?:not|n't) accept(?: the)?) {_PARAM}",
    rf"{_PARAM}\W{{0,3}}(?:is |was )?not recogni[sz]ed",
    r"unknown name \W?tools\W{0,2}: cannot find field",  # Google
)
"""More wording that must be about all tools, not about one or its schema."""
_refusing_tools = re.compile("|".join(_NO_TOOLS)).search
_ONLY_TURNS = (
    "roles must alternate", "only user and assistant roles", "developer instruction is not enabled",
    "invalid message role: system",
)  # fmt: skip
"""Wording of templates and servers (Mistral, Google, MiniMax) that take no system prompt."""
_OF_ONE_REQUEST = ("schema", "context", "tool_call_id", "role")
"""Wording of a refusal that concerns these tools or this conversation, not tools in general."""
_UNKNOWN = r"(?:invalid|unknown|unexpected|unsupported|unrecognized)"
_NO_CALLS = (
    r"roles must alternate",  # templates: Gemma, Llama 2, Mistral
    r"\bonly user\b[^.]{0,40}\broles\b",
    _UNKNOWN + r" role\W{1,4}tool\b(?!\W{0,2} after)",
    _UNKNOWN + r" tool role\b",
    r"\btool\W{0,2} role (?:is )?(?:not supported|unsupported)",
    r"\brole\W{1,4}tool\W{0,2} (?:is )?(?:not supported|unsupported)",
    r"'tool' is not one of .{0,200}\brole\b",  # JSON Schema
    r"invalid value: 'tool'.{0,60}'assistant'",  # OpenAI, before tools
    r"input should be (?=.{0,30}'assistant')"  # Pydantic
    r"(?:'(?:system|developer|user|assistant|function)'(?:, | or )?){2,}(?!(?:, | or )?')",
    r'can only concatenate str \(not "nonetype"\) to str',  # a call without text
    r"'dict object' has no attribute 'content'",
)
"""Wording of templates and servers that have no place for calls or their results."""
_refusing_calls = re.compile("|".join(_NO_CALLS)).search


def refused(error: UpstreamError, sent: Lack) -> Lack | None:
    """Return `sent` if the error shows that the backend lacks it.

    A call of a tool other than the required one is no evidence: the backend supports tools. A
    missing call says nothing about a system role.
    """
    if sent == "system" and isinstance(error, (ToolChoiceUnmet, ToolsRefused)):
        return None
    if isinstance(error, ToolChoiceUnmet):
        return None if error.called and sent == "tools" else sent
    if isinstance(error, ToolsRefused):
        return sent
    words = _words(error)
    return sent if words and _REFUSED[sent](words) else None


def refuses_calls(error: UpstreamError) -> bool:
    """Whether the error shows, after a conversation with calls, that the backend has no place for
    them in its prompt."""
    return _refusing_calls(_words(error)) is not None


def _words(error: UpstreamError) -> str:
    """Return a backend's own wording; empty for other errors."""
    if type(error) not in _OF_BACKENDS:
        return ""
    return f"{error.message} {error.param or ''}".casefold()


def _refuses_tools(words: str) -> bool:
    return "answered 501" in words or (
        any(word in words for word in _TOOLS)
        and (any(word in words for word in _REFUSING) or _refusing_tools(words) is not None)
        and not any(word in words for word in _OF_ONE_REQUEST)
    )


def _refuses_system(words: str) -> bool:
    """Whether there is no system role, or roles must alternate, which a system prompt breaks."""
    return (
        "system" in words
        and any(word in words for word in ("role", "prompt", "message"))
        and any(word in words for word in _REFUSING)
    ) or any(word in words for word in _ONLY_TURNS)


def _refuses_constraint(words: str) -> bool:
    return any(word in words for word in _CONSTRAINTS)


_REFUSED: dict[Lack, Callable[[str], bool]] = {
    "tools": _refuses_tools,
    "constraint": _refuses_constraint,
    "union": _refuses_constraint,
    "system": _refuses_system,
}
