"""The request in a trace, read again to be replayed, by the surface that it came in by."""

from collections.abc import Callable, Mapping
from typing import Any

from toolwire.protocol.requests import Request
from toolwire.surfaces.messages import recorded as messages
from toolwire.surfaces.openai import recorded as openai

_READERS: Mapping[str, Callable[[Mapping[str, Any]], Request]] = {
    messages.SURFACE: messages.recorded_request,
}


def recorded_request(record: Mapping[str, Any]) -> Request:
    """The request in the recorded body, read with the most lenient limits. Raises `RequestError`,
    and `CannotReplay` for a request to an API whose requests cannot be replayed."""
    read = _READERS.get(record["request"].get("surface"), openai.recorded_request)
    return read(record)
