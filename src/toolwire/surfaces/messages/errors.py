"""Converts a `GatewayError` to Anthropic's error body, headers, or stream event.

Clients match on the wording: "prompt is too long: N tokens > M maximum" makes them summarize the
conversation, and `overloaded_error` makes them retry.
"""

import re
from collections.abc import Sequence

import msgspec

from toolwire.errors import (
    GatewayError,
    InvalidToolArguments,
    Place,
    RequestError,
    ToolChoiceUnmet,
    UncheckedToolArguments,
)
from toolwire.surfaces import base
from toolwire.surfaces.exchange import Headers

FULL = "context_length_exceeded"
_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
STATUSES = {502: 500, 503: 529}
"""Statuses that are different in this API."""
_DETAILED = frozenset({"thread_unsupported_request"})
"""Codes that SDKs act on."""
_FINAL = (ToolChoiceUnmet, InvalidToolArguments, UncheckedToolArguments)
"""Failures of the model that remain after retries."""

_WINDOW = re.compile(
    r"(?:context (?:length|size|window)|model length|token limit|must be <=|less than|> )\D{0,40}?"
    r"(\d{3,})"
)
_PROMPT = re.compile(
    r"(?:resulted in|request \(|prompt \(length|has|contains(?: at least)?|given:|too long:) ?(\d+)"
    r"|(\d+) (?:tokens )?(?:in (?:the|your) (?:messages|prompt)|from the input|input tokens)"
    r"|(\d+) (?:`inputs`|of text input)|context limit: (\d+) \+"
)


def error_body(error: GatewayError, origins: Sequence[int] = (), prompt_tokens: int = 0) -> bytes:
    """Return the error object. `origins` are the indexes of the client's messages, and
    `prompt_tokens` is the estimated size of the prompt."""
    about: dict[str, object] = {
        "type": error_type(error),
        "message": message_of(error, origins, prompt_tokens),
    }
    if error.code in _DETAILED:
        about["details"] = {"error_code": error.code}
    body: dict[str, object] = {"type": "error", "error": about}
    if error.request_id:
        body["request_id"] = error.request_id
    return msgspec.json.encode(body)


def error_event(error: GatewayError, origins: Sequence[int] = (), prompt_tokens: int = 0) -> bytes:
    """Encode the error as the last event of a stream."""
    return b"event: error\ndata: " + error_body(error, origins, prompt_tokens) + b"\n\n"


def error_headers(error: GatewayError) -> Headers:
    """Return the headers of the error response, except its `request-id`."""
    headers = base.error_headers(error)
    if isinstance(error, _FINAL) and not error.lasting:
        headers.append(("x-should-retry", "false"))
    return headers


def status_of(error: GatewayError) -> int:
    """Return the status of the error response."""
    return STATUSES.get(error.status, error.status)


def error_type(error: GatewayError) -> str:
    """Return Anthropic's error type for the status."""
    fallback = "invalid_request_error" if 400 <= error.status < 500 else "api_error"
    return _TYPES.get(error.status, fallback)


def message_of(error: GatewayError, origins: Sequence[int], prompt_tokens: int) -> str:
    """Return the message, which begins with the location."""
    if error.code == FULL:
        prompt, window = sizes_in(error.message)
        asked = prompt or max(prompt_tokens, (window or 0) + 1)
        return f"prompt is too long: {asked} tokens > {window or asked - 1} maximum"
    where = _path(error.place, origins) if error.place is not None else None
    if where is None and isinstance(error, RequestError):
        where = error.param
    if not where or error.message.startswith(where):
        return error.message
    return f"{where}: {error.message}"


def sizes_in(words: str) -> tuple[int | None, int | None]:
    """Extract the token counts of the prompt and the context from a server's message."""
    said = words.casefold().replace(",", "")
    prompt, window = _PROMPT.search(said), _WINDOW.search(said)
    asked = next((int(said) for said in prompt.groups() if said), None) if prompt else None
    return asked, int(window[1]) if window else None


def _path(place: Place, origins: Sequence[int]) -> str:
    if place.tool is not None:
        return f"tools.{place.tool}"
    if place.message is None:
        return place.field
    at = origins[place.message] if place.message < len(origins) else place.message
    return f"messages.{at}.content" if place.part is not None else f"messages.{at}"
