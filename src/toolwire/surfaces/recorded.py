"""Decodes the request in a trace, for replay."""

from collections.abc import Callable, Mapping
from typing import Any

from toolwire.gateway.trace.replay import CannotReplay
from toolwire.protocol.requests import Request
from toolwire.protocol.schemas.check import SchemaLimits
from toolwire.protocol.tool_cache import ToolCache
from toolwire.surfaces.messages.api import NAME as MESSAGES
from toolwire.surfaces.messages.profiles import fitted
from toolwire.surfaces.messages.reader import MessagesReader
from toolwire.surfaces.messages.tools import MessagesToolReader
from toolwire.surfaces.openai.chat import NAME as CHAT
from toolwire.surfaces.openai.reader import RequestReader
from toolwire.surfaces.openai.tools import ToolReader
from toolwire.surfaces.profiles import profile_for
from toolwire.surfaces.responses.request.reader import ResponseReader
from toolwire.surfaces.responses.request.tools import ResponseToolReader
from toolwire.surfaces.responses.surface import NAME as RESPONSES

_MOST = 1_000_000


def recorded_request(record: Mapping[str, Any]) -> Request:
    """Decode the recorded body with the most lenient limits. Raises `RequestError`, or
    `CannotReplay` for an API whose requests depend on stored state."""
    asked = record["request"]
    surface = asked.get("surface", CHAT)
    if surface not in _READERS:
        raise CannotReplay(
            f"Requests to '{surface}' cannot be replayed, only those to {' and '.join(_READERS)}."
        )
    return _READERS[surface](asked["body"].encode(), asked["profile"])


def _chat(body: bytes, profile_name: str) -> Request:
    profile = profile_for("", profile_name)
    tools = ToolReader(max_tools=_MOST, cache_bytes=0)
    reader = RequestReader(tools, max_messages=_MOST, max_values=_MOST)
    return profile.adapted(reader.read(body, lenient_names=profile.lenient_names))


def _messages(body: bytes, profile_name: str) -> Request:
    tools = MessagesToolReader(max_tools=_MOST, cache_bytes=0, limits=SchemaLimits())
    reader = MessagesReader(tools, max_messages=_MOST, max_values=_MOST)
    return fitted(reader.read(body), profile_for("", profile_name)).request


def _responses(body: bytes, profile_name: str) -> Request:
    reader = ResponseReader(ResponseToolReader(ToolCache(0), _MOST), _MOST, max_values=_MOST)
    asked = reader.read(body)
    if asked.refers:
        raise CannotReplay("A response that follows another, or refers to items, needs the store.")
    read = reader.request(asked, asked.items)
    return profile_for("", profile_name).adapted(read.request)


_READERS: dict[str, Callable[[bytes, str], Request]] = {
    CHAT: _chat,
    MESSAGES: _messages,
    RESPONSES: _responses,
}
