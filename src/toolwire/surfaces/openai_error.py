"""The error object of OpenAI's APIs."""

import msgspec

from toolwire.errors import GatewayError, UpstreamError


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
