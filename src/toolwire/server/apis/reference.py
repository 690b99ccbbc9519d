"""Generates the API reference of all APIs."""

from toolwire.server.apis.openapi import Json, openapi
from toolwire.surfaces.messages.operations import API as MESSAGES
from toolwire.surfaces.native.operations import API as NATIVE
from toolwire.surfaces.openai.operations import API as OPENAI
from toolwire.surfaces.responses.operations import API as RESPONSES

APIS = (OPENAI, RESPONSES, MESSAGES, NATIVE)


def reference() -> Json:
    """Return the OpenAPI document."""
    return openapi(APIS)
