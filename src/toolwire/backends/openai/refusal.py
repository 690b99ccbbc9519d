"""What a server's error answer means for the client: an `UpstreamError`."""

import math

import msgspec

from toolwire.backends.base import Redact
from toolwire.backends.http import Head
from toolwire.backends.openai.answer import error_text
from toolwire.errors import UpstreamError, UpstreamRefused, UpstreamUnavailable

_NO_QUOTA = "insufficient_quota"
_RETRY_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 529})


def refusal(name: str, head: Head, body: bytes, redact: Redact) -> UpstreamError:
    """Translate an error answer: its own words where they help, never its secrets."""
    fields = _error_fields(body)
    said = redact(error_text(fields) if fields else body.decode("utf-8", "replace"), 500).strip()
    said = "" if said.startswith("<") else said  # an HTML page of some proxy
    status = head.status
    if status == 429 and fields.get("code") == _NO_QUOTA:
        # Asking again does not help: the account is empty.
        return UpstreamRefused(said, status=status, code=_NO_QUOTA)
    if status in _RETRY_STATUS:
        return UpstreamUnavailable(
            f"The backend '{name}' answered {status}" + (f": {said}" if said else "."),
            retry_after=_retry_after(head),
            rate_limited=status == 429,
        )
    if status in (401, 403):
        return lasting(
            f"The backend '{name}' refused Toolwire's key ({status}). "
            "Set the right one with 'key_env' in toolwire.toml or --upstream-key-env."
        )
    if 400 <= status < 500:
        param, code = fields.get("param"), fields.get("code")
        return UpstreamRefused(
            said or f"The backend '{name}' refused the request ({status}).",
            status=status,
            param=redact(param, 200) if isinstance(param, str) else None,
            code=redact(code, 200) if isinstance(code, str) else "upstream_error",
        )
    if 300 <= status < 400:
        return lasting(
            f"The backend '{name}' answered with a redirect ({status}), which is never followed. "
            "Configure the final address."
        )
    return UpstreamError(f"The backend '{name}' answered {status}" + (f": {said}" if said else "."))


def lasting(message: str) -> UpstreamError:
    """A failure that stays until the configuration is changed: asking again cannot help."""
    error = UpstreamError(message)
    error.retryable = False
    return error


def _error_fields(body: bytes) -> dict[str, object]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}
    error = value.get("error", value) if isinstance(value, dict) else value
    return error if isinstance(error, dict) else {"message": error_text(error)}


def _retry_after(head: Head) -> float | None:
    raw = head.headers.get(b"retry-after", b"")
    try:
        seconds = float(raw)
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
