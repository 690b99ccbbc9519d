"""Refuses requests from web pages if no client keys are configured, except from allowed pages.

A browser lets any page send requests to this machine. Two headers that a page cannot forge reveal
them: `Origin`, where the page is from, and `Host`, the name it used for this server, which is the
page's own if its DNS points to this machine (DNS rebinding). Other programs send no `Origin`, and
the `Host` they were configured with. With client keys, a page would need a key.
"""

import ipaddress
import re
from collections.abc import Mapping

from toolwire.errors import Forbidden
from toolwire.server.config.settings import Listen
from toolwire.server.config.values import is_loopback

ANY = "*"
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_HEADER_NAMES = re.compile(rb"[A-Za-z0-9_\-, ]{1,2048}")
_LOCAL_NAMES = frozenset({"localhost", "host.docker.internal", "host.containers.internal"})
"""Names of this machine that cannot be registered; containers use the last two."""
_MOST_KNOWN, _LONGEST_KNOWN = 256, 255
_OWN = (b"none", b"same-origin")
"""Values of `Sec-Fetch-Site` for a user's own request, and for one of our pages."""
_KEEP_PREFLIGHT = "600"


class WebGuard:
    """Checks the `Host` and `Origin` of a request. `open`: no client keys are configured."""

    def __init__(self, listen: Listen, *, open: bool) -> None:  # noqa: A002 - as in Keyring
        self._open = open
        self._hosts = frozenset(listen.allowed_hosts)
        self._origins = frozenset(listen.allowed_origins)
        local = open and is_loopback(listen.host)
        self._by_host = (local or bool(self._hosts)) and ANY not in self._hosts
        self._known: set[bytes] = set()

    def check(self, headers: Mapping[bytes, bytes]) -> str:
        """Return the origin that may read the answer, or an empty string. Raises `Forbidden`."""
        host = headers.get(b"host", b"")
        if self._by_host and host not in self._known:
            self._check_host(host)
        origin = headers.get(b"origin")
        if origin is None:
            if self._open and headers.get(b"sec-fetch-site", b"none") not in _OWN:
                raise Forbidden(_ORIGIN.format("from another site"), code="origin_not_allowed")
            return ""
        return self._check_origin(origin, host)

    def _check_host(self, host: bytes) -> None:
        text = host.decode("latin-1")
        found = _HOST.fullmatch(text)
        name = found[1].lower().rstrip(".") if found else ""
        # A client without a Host header is not a browser.
        if host and not (name in self._hosts or _is_local(name)):
            raise Forbidden(_HOST_TEXT.format(text[:200]), code="host_not_allowed")
        if len(self._known) < _MOST_KNOWN and len(host) <= _LONGEST_KNOWN:
            self._known.add(host)

    def _check_origin(self, origin: bytes, host: bytes) -> str:
        text = origin.decode("latin-1").lower()
        if text in self._origins or ANY in self._origins:
            return origin.decode("latin-1")
        own = text.partition("://")[2] == host.decode("latin-1").lower() != ""
        if self._open and not own:
            raise Forbidden(_ORIGIN.format(f"from '{text[:200]}'"), code="origin_not_allowed")
        return ""


def is_preflight(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """Whether this is a CORS preflight request."""
    return method == "OPTIONS" and b"access-control-request-method" in headers


def preflight_headers(headers: Mapping[bytes, bytes]) -> list[tuple[str, str]]:
    """Return the headers for a preflight response, except the allowed origin."""
    wanted = headers.get(b"access-control-request-headers", b"")
    allowed = wanted.decode("ascii") if _HEADER_NAMES.fullmatch(wanted) else ANY
    return [
        ("access-control-allow-methods", "GET, HEAD, POST, DELETE"),
        ("access-control-allow-headers", allowed),
        ("access-control-max-age", _KEEP_PREFLIGHT),
    ]


def _is_local(name: str) -> bool:
    """Whether a name is local, or an address: an address cannot be rebound."""
    if name in _LOCAL_NAMES or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


_HOST_TEXT = (
    "No client keys are configured, so only requests to this machine by its own name are answered, "
    "and the Host of this one is '{}'. If that is this machine's name, add it to allowed_hosts in "
    "[listen] of toolwire.toml, or configure client keys."
)
_ORIGIN = (
    "No client keys are configured, so web pages may not send requests, and this one comes "
    "{}. If you trust the page, add its origin to allowed_origins in [listen] of toolwire.toml."
)
