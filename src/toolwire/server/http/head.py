"""Checks the head of a request before its body is read.

llhttp checks the syntax. This checks what llhttp accepts but RFC 9110 and 9112 do not, and what
this server does not support.
"""

import re

from toolwire.surfaces.exchange import HttpRequest

_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)(/[^#]*|\?[^#]*)?", re.IGNORECASE)
"""A target as it is sent to a proxy. Userinfo and fragments have no place in one."""


class Refused(Exception):
    """The request is answered with `status`, and nothing after it is read."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def check_head(request: HttpRequest, version: str) -> None:
    """Refuse a head that is not to be answered; bring its target into the form of a path."""
    headers = request.headers
    if version not in ("1.1", "1.0"):
        raise Refused(400)
    # Two Hosts have been joined with a comma, which no host has in its name.
    if b"," in headers.get(b"host", b"," if version == "1.1" else b""):
        raise Refused(400)
    if not request.target.startswith(b"/"):
        _make_path(request)
    if b"transfer-encoding" in headers:
        _check_coding(headers[b"transfer-encoding"], version)
    if b"expect" in headers and version == "1.1" and not wants_continue(request):
        raise Refused(417)


def announces_body(request: HttpRequest) -> bool:
    """Whether the head says that a body follows, which may be empty."""
    return b"content-length" in request.headers or b"transfer-encoding" in request.headers


def wants_continue(request: HttpRequest) -> bool:
    """Whether the client waits to be told that its body is wanted. Nobody did before HTTP/1.1."""
    return request.chunked_ok and request.headers.get(b"expect", b"").lower() == b"100-continue"


def _make_path(request: HttpRequest) -> None:
    """`http://host/path` is `/path` at that host, which the Host header must not contradict."""
    found = _ABSOLUTE.fullmatch(request.target)
    if found is None:
        return  # `*`, or something that is found nowhere
    authority, path = found[1], found[2] or b"/"
    if request.headers.setdefault(b"host", authority).lower() != authority.lower():
        raise Refused(400)
    request.target = path if path.startswith(b"/") else b"/" + path


def _check_coding(coding: bytes, version: str) -> None:
    if version == "1.0":
        raise Refused(400)
    if coding.strip().lower() != b"chunked":
        raise Refused(501)
