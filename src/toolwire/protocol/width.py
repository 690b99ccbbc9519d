"""Limits the number of values in JSON, before it is decoded.

A decoder holds the interpreter's lock until it is done, and a value costs as much as many
characters of text. So a body is limited in values as well as in bytes.
"""

import re

from toolwire.errors import RequestError

MOST_VALUES = 150_000
"""Members of objects and elements of arrays, in all: more than any client sends, and about a tenth
of a second's work."""
_BEFORE = (b",", b"[", b"{")
"""A value that is not alone stands behind one of these."""
_STRING = re.compile(rb'(?:[^"\\]*+\\.){0,4096}+[^"\\]*+', re.DOTALL)
"""The next piece of a string: a match lets nobody else run, either."""


def check_width(json: bytes | str, where: str, most: int) -> None:
    """Refuse JSON with too many values. `where` is the parameter, or empty for the body."""
    if len(json) <= most:
        return  # nearly every request
    raw = json.encode(errors="replace") if isinstance(json, str) else json
    if _counted(raw) > most and _holds_more(raw, most):
        named = f"'{where}'" if where else "body"
        raise RequestError(
            f"Invalid {named}: too many values. Expected at most {most} members of objects and "
            "elements of arrays in all. Send less in one request, or send it as text.",
            param=where or None,
            code="too_many_values",
        )


def _counted(raw: bytes) -> int:
    return sum(map(raw.count, _BEFORE))


def _holds_more(raw: bytes, most: int) -> bool:
    """Whether there are more than `most` where no string is."""
    values = at = 0
    while (quote := raw.find(b'"', at)) >= 0:
        values += _counted(raw[at:quote])
        if values > most:
            return True
        at = _end_of_string(raw, quote + 1)
    return values + _counted(raw[at:]) > most


def _end_of_string(raw: bytes, at: int) -> int:
    """Where the string that is open at `at` has ended."""
    while True:
        piece = _STRING.match(raw, at)
        at = piece.end() if piece else len(raw)
        if raw[at : at + 1] != b"\\" or at + 1 >= len(raw):
            return at + 1
