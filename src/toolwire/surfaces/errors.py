"""Errors in the words of each surface: the one place where a `GatewayError` becomes a body."""

import math

import msgspec

from toolwire.errors import GatewayError, MethodNotAllowed


def error_body(error: GatewayError) -> bytes:
    """OpenAI's error object: always four keys."""
    return msgspec.json.encode(
        {
            "error": {
                "message": error.message,
                "type": error_type(error),
                "param": error.param,
                "code": error.code,
            }
        }
    )


def error_type(error: GatewayError) -> str:
    """A backend's refusal is the client's error by its status; the rest is said on the class."""
    if error.status == 429:
        return error.code if error.code == "insufficient_quota" else "requests"
    return "invalid_request_error" if 400 <= error.status < 500 else error.type


def error_headers(error: GatewayError) -> list[tuple[str, str]]:
    """The headers that go with it."""
    headers = [("content-type", "application/json")]
    if error.retry_after is not None:
        headers.append(("retry-after", str(math.ceil(error.retry_after))))
    if isinstance(error, MethodNotAllowed):
        headers.append(("allow", ", ".join(error.allowed)))
    return headers


def error_event(error: GatewayError) -> bytes:
    """The error as the last event of a stream that had begun."""
    return b"data: " + error_body(error) + b"\n\n"
