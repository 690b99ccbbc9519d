"""The request in a trace, read again to be replayed."""

from collections.abc import Mapping
from typing import Any

from toolwire.protocol.requests import Request
from toolwire.protocol.schemas.check import SchemaLimits
from toolwire.surfaces.messages.profiles import fitted
from toolwire.surfaces.messages.reader import RequestReader
from toolwire.surfaces.messages.tools import ToolReader
from toolwire.surfaces.profiles import profile_named

SURFACE = "anthropic_messages"
"""The surface's name in traces."""
_MOST = 1_000_000


def recorded_request(record: Mapping[str, Any]) -> Request:
    """The request in the recorded body, read with the most lenient limits. Raises
    `RequestError`."""
    tools = ToolReader(max_tools=_MOST, cache_bytes=0, limits=SchemaLimits())
    reader = RequestReader(tools, max_messages=_MOST, max_values=_MOST)
    asked = reader.read(record["request"]["body"].encode())
    return fitted(asked, profile_named(record["request"]["profile"])).request
