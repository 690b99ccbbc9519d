"""The client's own JSON, for a backend that speaks this API: see `WireRequest`."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.backends.anthropic.own import WIRE
from toolwire.protocol.requests import Request, WireRequest
from toolwire.surfaces.messages.notes import Notes
from toolwire.surfaces.messages.thinking import is_foreign

KEPT_BACK = frozenset(
    {"model", "max_tokens", "stream", "fallbacks", "fallback_credit_token", "inference_geo"}
    | {"user_profile_id", "workspace_id"}
)
"""Fields that are not passed on: those that are set here, and those that would choose another model
or account than the route does."""
_UNFIT = re.compile(rb'"signature"\s*:\s*"(?:tw1\.|")|"text"\s*:\s*""')
_Wire = list[dict[str, Any]]


def with_own_form(
    request: Request, fields: Mapping[str, Raw], headers: Mapping[str, str], notes: Notes
) -> Request:
    """Return the request with the JSON that it was read from."""
    kept = {name: raw for name, raw in fields.items() if name not in KEPT_BACK}
    if notes.repairs:  # it would be refused as it is
        del kept["messages"]
    elif _UNFIT.search(kept["messages"]):
        kept["messages"] = Raw(msgspec.json.encode(_fit(msgspec.json.decode(kept["messages"]))))
    ignored = tuple(name for name in notes.ignored if name not in KEPT_BACK)
    origin = WireRequest(WIRE, kept, request, headers, ignored)
    own = tuple(name for name in notes.ignored if name in KEPT_BACK)
    return msgspec.structs.replace(request, ignored=own, origin=origin)


def _fit(messages: _Wire) -> _Wire:
    """Return messages without blocks that Anthropic refuses: empty text, and thinking that another
    model wrote."""
    made = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = [block for block in content if not _is_unfit(block)]
        if content:
            made.append({**message, "content": content})
    return made


def _is_unfit(block: dict[str, Any]) -> bool:
    if block.get("type") == "thinking":
        return is_foreign(block.get("signature"))
    return block.get("type") == "text" and not block.get("text")
