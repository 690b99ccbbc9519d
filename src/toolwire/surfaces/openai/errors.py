"""A `GatewayError` -> OpenAI's error body, headers, or event of a stream."""

import math

import msgspec

from toolwire.errors import GatewayError, MethodNotAllowed, UpstreamError
from toolwire.surfaces.openai.words import worded


def error_body(error: GatewayError) -> bytes:
    """OpenAI's error object: always four keys."""
    message, param = worded(error)
    return msgspec.json.encode(
        {
            "error": {
                "message": message,
                "type": error_type(error),
                "param": param,
                "code": error.code,
            }
        }
    )


def error_type(error: GatewayError) -> str:
    """What the backend calls it; else a refusal is the client's error by its status, and the rest
    is said on the class."""
    if isinstance(error, UpstreamError) and error.own_type and error.status != 429:
        return error.own_type
    if error.status == 429:
        return error.code if error.code == "insufficient_quota" else "requests"
    return "invalid_request_error" if 400 <= error.status < 500 else error.type


def error_headers(error: GatewayError) -> list[tuple[str, str]]:
    """The headers of the error response."""
    headers = [("content-type", "application/json")]
    if error.retry_after is not None:
        headers.append(("retry-after", str(math.ceil(error.retry_after))))
    if error.lasting:
        # Some libraries retry by the status alone, and others for a minute, unless told not to.
        headers.append(("x-should-retry", "false"))
    if isinstance(error, MethodNotAllowed):
        headers.append(("allow", ", ".join(error.allowed)))
    return headers


def error_event(error: GatewayError) -> bytes:
    """The error as the last event of a stream."""
    return b"data: " + error_body(error) + b"\n\n"
