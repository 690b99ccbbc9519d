"""Translates a server's error response into an `UpstreamError`."""

import math

import msgspec

from toolwire.backends.base import Redact
from toolwire.backends.http import Head
from toolwire.backends.openai.error_kinds import (
    error_of,
    error_text,
    kind_of_error,
    known_refusal,
    own_word,
)
from toolwire.errors import KeyRefused, UpstreamError, UpstreamRefused, UpstreamUnavailable
from toolwire.protocol.json_numbers import decode_any

_NO_QUOTA = "insufficient_quota"
_BUSY = frozenset({408, 425, 429, 503, 529})
"""Statuses that mean the client should retry later."""
_LASTING = frozenset({501, 505})
_NO_KEY = 401
_TOO_LARGE = 413
"""Also for a request that exceeds a rate limit by itself: waiting does not help."""
_PAGE = ("<!doctype", "<html")
"""What a proxy's page begins with. DashScope's messages begin with `<400>`."""
_KEY_ADVICE = "Set the right one with 'key_env' in toolwire.toml or --upstream-key-env."


def refusal(name: str, head: Head, body: bytes, redact: Redact) -> UpstreamError:
    """Translate an error response, with the server's message but without its secrets."""
    fields = error_fields(body)
    said = redact(error_text(fields) or body.decode("utf-8", "replace"), 500).strip()
    if said.startswith("<") and (not fields or said[:9].casefold().startswith(_PAGE)):
        said = ""
    error = _known(name, head, fields, said, redact) or _by_status(name, head, fields, said, redact)
    error.own_type = error.own_type or own_word(fields.get("type"), redact)
    if error.code in (None, UpstreamError.code):
        error.code = own_word(fields.get("code"), redact) or UpstreamError.code
    return error


def error_fields(body: bytes) -> dict[str, object]:
    """Return the members of an `error` in any form; empty if there is none."""
    try:
        value = decode_any(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    error = error_of(value)
    return error if isinstance(error, dict) else {"message": error_text(error)}


def lasting(message: str) -> UpstreamError:
    """Return a permanent failure, which a retry cannot fix."""
    error = UpstreamError(message)
    error.retryable = False
    error.lasting = True
    return error


def _known(
    name: str, head: Head, fields: dict[str, object], said: str, redact: Redact
) -> UpstreamError | None:
    """Return the error with OpenAI's code, if the server's message identifies it."""
    status, code = head.status, fields.get("code")
    if code == _NO_QUOTA or (fields.get("type") == _NO_QUOTA and status == 429):
        error = UpstreamRefused(said, status=429, code=_NO_QUOTA)
        error.lasting = error.elsewhere = True  # the account is empty
        return error
    kind = kind_of_error(said, fields.get("type"), code)
    if status == 429 or (kind == "rate_limit_exceeded" and status != _TOO_LARGE):
        return UpstreamUnavailable(
            _answered(name, status, said), retry_after=_retry_after(head), rate_limited=True
        )
    if kind is None or kind == "rate_limit_exceeded" or status == _NO_KEY:
        return None
    return known_refusal(kind, said or kind, own_word(fields.get("param"), redact))


def _by_status(
    name: str, head: Head, fields: dict[str, object], said: str, redact: Redact
) -> UpstreamError:
    status = head.status
    if status in _BUSY:
        return UpstreamUnavailable(_answered(name, status, said), retry_after=_retry_after(head))
    if status in (401, 403):
        words = f": {_sentence(said)}" if said else "."
        return KeyRefused(
            f"The backend '{name}' refused Toolwire's key ({status}){words} {_KEY_ADVICE}",
            status=status,
        )
    if 400 <= status < 500:
        error = UpstreamRefused(
            said or f"The backend '{name}' refused the request ({status}).",
            status=status,
            param=own_word(fields.get("param"), redact),
        )
        # It may lack the model, the endpoint, or credit.
        error.elsewhere = status in (402, 404, 405)
        return error
    if 300 <= status < 400:
        return lasting(
            f"The backend '{name}' answered with a redirect ({status}), which is never followed. "
            "Configure the final address."
        )
    text = _answered(name, status, said)
    return lasting(text) if status in _LASTING else UpstreamError(text)


def _answered(name: str, status: int, said: str) -> str:
    return f"The backend '{name}' answered {status}" + (f": {said}" if said else ".")


def _sentence(said: str) -> str:
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _retry_after(head: Head) -> float | None:
    raw = head.headers.get(b"retry-after", b"")
    try:
        seconds = float(raw)
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
