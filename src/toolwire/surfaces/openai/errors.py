"""Converts a `GatewayError` to the error body or stream event of chat completions."""

from toolwire.errors import GatewayError
from toolwire.surfaces.openai.words import worded
from toolwire.surfaces.openai_error import error_object


def error_body(error: GatewayError) -> bytes:
    """OpenAI's error object."""
    message, param = worded(error)
    return error_object(error, message, param, error.code)


def error_event(error: GatewayError) -> bytes:
    """Encode the error as the last event of a stream."""
    return b"data: " + error_body(error) + b"\n\n"
