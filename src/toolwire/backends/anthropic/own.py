"""Requests of clients that speak this API themselves: what of their JSON is sent unchanged.

Such a client uses more of the API than a `Request` has a place for: cache breakpoints, signed
thinking, tools that the server runs, beta features. A field is sent as the client wrote it unless
the gateway has changed what was read from it.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Raw

from toolwire.backends.base import BackendRequest
from toolwire.protocol.requests import ChatMessage, Request, WireRequest

WIRE = "anthropic_messages"
"""Marks requests of this API."""
HEADERS = ("anthropic-beta", "anthropic-version")
"""The client's headers that are sent, too."""

_Same: TypeAlias = Callable[[Request, Request], bool]
_CONVERSATION = ("messages", "system")
_OF_THINKING = ("thinking", "context_management")
"""Fields that require the model's earlier thinking to be in the conversation."""


def own_request(request: Request) -> WireRequest | None:
    """Return the client's own request, if it spoke this API."""
    origin = request.origin
    return origin if origin is not None and origin.wire == WIRE else None


def own_fields(outgoing: BackendRequest) -> dict[str, Any]:
    """Return the fields that are sent as the client wrote them."""
    own = own_request(outgoing.request)
    if own is None:
        return {}
    fields: dict[str, Any] = {
        name: Raw(raw)
        for name, raw in own.fields.items()
        if name not in _SAME or _SAME[name](outgoing.request, own.read)
    }
    if outgoing.tools is not own.read.tools:
        fields.pop("tools", None)
    if "messages" not in fields or not _begins_with(outgoing.messages, own.read.messages):
        for name in (*_CONVERSATION, *_OF_THINKING):
            fields.pop(name, None)
    return fields


def added_messages(outgoing: BackendRequest) -> Sequence[ChatMessage]:
    """Return the messages that follow the client's own conversation."""
    own = own_request(outgoing.request)
    return outgoing.messages[len(own.read.messages) :] if own is not None else ()


def _begins_with(messages: Sequence[ChatMessage], start: Sequence[ChatMessage]) -> bool:
    return len(messages) >= len(start) and all(map(operator.is_, messages, start))


def _same_thinking(now: Request, then: Request) -> bool:
    return (
        now.sampling.reasoning_effort == then.sampling.reasoning_effort
        and now.sampling.thinking == then.sampling.thinking
    )


def _same_output(now: Request, then: Request) -> bool:
    return _same_thinking(now, then) and now.response_format == then.response_format


def _same_choice(now: Request, then: Request) -> bool:
    return now.choice == then.choice and now.parallel == then.parallel


_SAME: Mapping[str, _Same] = {
    "thinking": _same_thinking,
    "context_management": _same_thinking,
    "output_config": _same_output,
    "output_format": _same_output,
    "tool_choice": _same_choice,
}
"""Fields that the gateway may change, and whether it has not."""
