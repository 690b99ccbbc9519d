"""The request in a trace, read again to be replayed."""

from collections.abc import Mapping
from typing import Any

from toolwire.gateway.trace.replay import CannotReplay
from toolwire.protocol.requests import Request
from toolwire.surfaces.openai.reader import RequestReader
from toolwire.surfaces.openai.tools import ToolReader
from toolwire.surfaces.profiles import profile_for

_SURFACE = "openai_chat"
_MOST = 1_000_000


def recorded_request(record: Mapping[str, Any]) -> Request:
    """The request in the recorded body, read with the most lenient limits. Raises `RequestError`,
    and `CannotReplay` for a request to another API."""
    if (surface := record["request"].get("surface", _SURFACE)) != _SURFACE:
        raise CannotReplay(f"Requests to '{surface}' cannot be replayed, only to '{_SURFACE}'.")
    profile = profile_for("", record["request"]["profile"])
    tools = ToolReader(max_tools=_MOST, cache_bytes=0)
    reader = RequestReader(tools, max_messages=_MOST, max_values=_MOST)
    body = record["request"]["body"].encode()
    return profile.adapted(reader.read(body, lenient_names=profile.lenient_names))
