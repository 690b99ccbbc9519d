"""Log probabilities in the form of this API."""

import msgspec

from toolwire.protocol.json_limits import is_wide
from toolwire.protocol.json_numbers import SteadyDecoder
from toolwire.surfaces.responses.kinds import Fields

_MOST_VALUES = 100_000
"""The most values that are converted."""


class _Token(msgspec.Struct):
    token: str = ""
    logprob: float | None = None
    bytes: list[int] | None = None


class _Entry(_Token):
    top_logprobs: list[_Token] | None = None


class _Logprobs(msgspec.Struct):
    content: list[_Entry] | None = None


_decode = SteadyDecoder(_Logprobs).decode


def read_logprobs(raw: bytes) -> list[Fields]:
    """Convert the log probabilities of a piece of text to this API's format: none if they are so
    many that it would take long, or are none."""
    if is_wide(raw, _MOST_VALUES):
        return []
    try:
        entries = _decode(raw).content
    except msgspec.ValidationError:
        return []
    return [_logprob(entry) for entry in entries or ()]


def _logprob(entry: _Entry) -> Fields:
    return {**_token(entry), "top_logprobs": [_token(other) for other in entry.top_logprobs or ()]}


def _token(entry: _Token) -> Fields:
    given = entry.bytes
    return {
        "token": entry.token,
        "logprob": entry.logprob or 0.0,
        "bytes": given if given is not None else list(entry.token.encode()),
    }
