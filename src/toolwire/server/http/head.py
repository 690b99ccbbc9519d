"""Checks the head of a request before its body is read.

llhttp checks the syntax. This checks what llhttp accepts but RFC 9110 and 9112 do not, and what
this server does not support.
"""

import re
from collections.abc import Iterable

from toolwire.surfaces.exchange import HttpRequest

_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)(/[^#]*|\?[^#]*)?", re.IGNORECASE)
"""A target in absolute form, as sent to a proxy. Userinfo and fragments are not allowed."""

_COMMA = ord(",")


class Refused(Exception):
    """The request is refused with `status`, and further input is not read."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def joined(lines: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by name, the values of repeated ones joined with a comma."""
    headers: dict[bytes, bytes] = {}
    for name, value in lines:
        key = name.lower()
        headers[key] = headers[key] + b", " + value if key in headers else value
    return headers


def check_head(request: HttpRequest, version: str) -> None:
    """Refuse an invalid head, and convert its target to a path."""
    headers = request.headers
    if version not in ("1.1", "1.0"):
        raise Refused(400)
    # Two Host headers are joined with a comma, which no host name contains.
    if _COMMA in headers.get(b"host", b"," if version == "1.1" else b""):
        raise Refused(400)
    if not request.target.startswith(b"/"):
        _make_path(request)
    if b"transfer-encoding" in headers:
        _check_coding(headers[b"transfer-encoding"], version)
    if b"expect" in headers and version == "1.1" and not wants_continue(request):
        raise Refused(417)


def wants_continue(request: HttpRequest) -> bool:
    """Whether the client waits for `100 Continue`. HTTP/1.0 clients do not."""
    return request.chunked_ok and request.headers.get(b"expect", b"").lower() == b"100-continue"


def _make_path(request: HttpRequest) -> None:
    """Convert `http://host/path` to `/path`. The Host header must match the host."""
    found = _ABSOLUTE.fullmatch(request.target)
    if found is None:
        return  # `*`, or a target that does not exist
    authority, path = found[1], found[2] or b"/"
    if request.headers.setdefault(b"host", authority).lower() != authority.lower():
        raise Refused(400)
    request.target = path if path.startswith(b"/") else b"/" + path


def _check_coding(coding: bytes, version: str) -> None:
    if version == "1.0":
        raise Refused(400)
    if coding.strip().lower() != b"chunked":
        raise Refused(501)
