"""The model's name in a JSON body that is otherwise passed on as it is, byte for byte."""

import re
from itertools import islice

import msgspec

_MEMBER = re.compile(rb'"model"\s{0,64}+:\s{0,64}+("(?:[^"\\]|\\.){1,600}+")')
_MOST_MEMBERS = 64
"""So many are tried. A request has one, and a few more in what it is about."""


class _Body(msgspec.Struct):
    model: str | None = None


_decode = msgspec.json.Decoder(_Body).decode


def named_model(body: bytes) -> str | None:
    """The model that a body names; None if it names none, or is no JSON object."""
    try:
        return _decode(body).model
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def with_model(body: bytes, name: str) -> bytes:
    """The body, with another name for the model if it names one.

    A reader that skips what it does not want is many times faster than to find the right member
    by counting brackets: so each one that may be it is changed, until the reader sees the change.
    """
    named = named_model(body)
    if not named or named == name:
        return body
    written = msgspec.json.encode(name)
    for member in islice(_MEMBER.finditer(body), _MOST_MEMBERS):
        renamed = body[: member.start(1)] + written + body[member.end(1) :]
        if named_model(renamed) == name:
            return renamed
    return body
