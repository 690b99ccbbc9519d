"""The request in a trace, read again to be replayed."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from toolwire.protocol.requests import Request
from toolwire.surfaces.openai.reader import RequestReader
from toolwire.surfaces.openai.tools import ToolReader
from toolwire.surfaces.profiles import profile_for

_MOST = 1_000_000


def recorded_request(record: Mapping[str, Any]) -> Request:
    """The request in the recorded body, read with the most lenient limits. Raises
    `RequestError`."""
    profile = profile_for("", record["request"]["profile"])
    tools = ToolReader(max_tools=_MOST, cache_bytes=0)
    reader = RequestReader(tools, max_messages=_MOST, max_values=_MOST)
    body = record["request"]["body"].encode()
    request = reader.read(body, lenient_names=profile.lenient_names)
    if profile.lost_result is not None:
        request = replace(request, messages=profile.repaired(request.messages))
    return request
