"""Converts a `GatewayError` to the Responses API: a body, or the last events of a stream."""

import math
from collections.abc import Callable, Sequence

from toolwire.errors import (
    GatewayError,
    HistoryError,
    HistoryFault,
    Place,
    UpstreamError,
    UpstreamRefused,
)
from toolwire.surfaces.openai_error import error_object


class ResponseNotFound(GatewayError):
    """This API key has no such response or item. OpenAI's error has no code."""

    status = 404
    type = "invalid_request_error"


_CODES = {"overloaded": "server_is_overloaded"}
"""Codes that have another name in this API."""
_KEPT = frozenset({"context_length_exceeded", "rate_limit_exceeded", "insufficient_quota"})
"""Codes that clients act on when a stream ends with them."""
_FIELDS = {"kind": "type", "id": "call_id", "messages": "input"}


def path_of(place: Place, positions: Sequence[int] = ()) -> str:
    """Return a location as a parameter path. `positions` maps messages to their items."""
    name = _FIELDS.get(place.field, place.field)
    if place.tool is not None:
        return f"tools[{place.tool}].{name}"
    if place.message is None:
        return name
    if place.message >= len(positions):
        return "input"
    item = f"input[{positions[place.message]}]"
    if place.part is not None:
        return f"{item}.content[{place.part}]"
    return f"{item}.{name}" if place.field not in ("", "role") else item


def worded(error: GatewayError, positions: Sequence[int] = ()) -> tuple[str, str | None]:
    """Return the message and the parameter of an error."""
    param = path_of(error.place, positions) if error.place is not None else error.param
    if isinstance(error, HistoryError):
        return _SENTENCES[error.fault](error), param
    if error.code == "context_length_exceeded":
        return error.message, param or "input"
    return error.message, param


def worded_in_stream(error: GatewayError, positions: Sequence[int] = ()) -> tuple[str, str | None]:
    """Return the message and the parameter of an error that ends a stream. There is no header for
    the time after which to try again, and Codex reads it from the message."""
    message, param = worded(error, positions)
    if error.retry_after is not None:
        message = f"{message} Please try again in {math.ceil(error.retry_after)}s."
    return message, param


def _unanswered(error: HistoryError) -> str:
    return f"No tool output found for function call {error.call_ids[0]}."


def _orphan(error: HistoryError) -> str:
    return f"No tool call found for function call output with call_id {error.call_ids[0]}."


def _plain(error: HistoryError) -> str:
    return error.message


_SENTENCES: dict[HistoryFault, Callable[[HistoryError], str]] = {
    "unanswered_calls": _unanswered,
    "answered_twice": _plain,
    "orphan_result": _orphan,
    "repeated_call_id": _plain,
    "long_call_id": _plain,
}


def error_body(error: GatewayError, positions: Sequence[int] = ()) -> bytes:
    """The body of an error response."""
    message, param = worded(error, positions)
    return error_object(error, message, param, code_of(error))


def code_of(error: GatewayError) -> str | None:
    """Return the code of an error in a body."""
    return _CODES.get(error.code or "", error.code)


def stream_code(error: GatewayError) -> str:
    """Return the code of an error that ends a stream.

    Clients retry unless they know the code. So a permanent refusal must not look like a temporary
    failure.
    """
    code = code_of(error)
    if code in _KEPT:
        return code or ""
    refused = isinstance(error, UpstreamRefused) or error.status < 500
    lasting = isinstance(error, UpstreamError) and error.lasting
    return "invalid_prompt" if refused or lasting else "server_error"
