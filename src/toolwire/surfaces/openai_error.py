"""The error object of OpenAI's APIs, and the headers of an error response."""

import math

import msgspec

from toolwire.errors import GatewayError, MethodNotAllowed, UpstreamError


class ErrorDetail(msgspec.Struct):
    """What was wrong, where, and what to do."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorBody(msgspec.Struct):
    """The body of an error response."""

    error: ErrorDetail


def error_object(error: GatewayError, message: str, param: str | None, code: str | None) -> bytes:
    """The body of an error response: always four keys."""
    return msgspec.json.encode(ErrorBody(ErrorDetail(message, error_type(error), param, code)))


def error_type(error: GatewayError) -> str:
    """Return the backend's error type if it gave one. Otherwise derive it from the status of a
    refusal, or from the class."""
    if isinstance(error, UpstreamError) and error.own_type and error.status != 429:
        return error.own_type
    if error.status == 429:
        return error.code if error.code == "insufficient_quota" else "requests"
    return "invalid_request_error" if 400 <= error.status < 500 else error.type


def error_headers(error: GatewayError) -> list[tuple[str, str]]:
    """Return the headers of the error response."""
    headers = [("content-type", "application/json")]
    if error.retry_after is not None:
        headers.append(("retry-after", str(math.ceil(error.retry_after))))
    if error.lasting:
        # Some libraries retry on status alone, and others for a minute, unless told not to.
        headers.append(("x-should-retry", "false"))
    if isinstance(error, MethodNotAllowed):
        headers.append(("allow", ", ".join(error.allowed)))
    return headers
