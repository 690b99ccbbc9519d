"""The files of the page, and the headers that keep it safe.

Models and clients may write anything, and the page shows it. It never makes HTML of text; should
it do so by mistake, this policy lets nothing run: no inline script, no other origin, no HTML from
strings (`require-trusted-types-for`).
"""

from collections.abc import Awaitable, Callable
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import msgspec

from toolwire.gateway.context import RequestContext
from toolwire.inspector.paths import PATH
from toolwire.surfaces.exchange import Exchange, Headers

Handler: TypeAlias = Callable[[Exchange, RequestContext], Awaitable[None]]

_STATIC = Path(__file__).parent / "static"
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_SAFE: Headers = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-cache"),
]
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


class StaticFile(msgspec.Struct, frozen=True):
    """One file of the page."""

    kind: str
    body: bytes

    async def answer(self, exchange: Exchange, context: RequestContext) -> None:
        """Send the file."""
        headers = [*context.headers(), *_SAFE, ("content-type", self.kind)]
        exchange.respond(200, headers, self.body)


@lru_cache(maxsize=1)
def static_files() -> dict[str, StaticFile]:
    """Every file of the page, by its path."""
    found = {}
    for entry in _STATIC.iterdir():
        kind = _KINDS.get(entry.suffix)
        if kind is not None:
            path = PATH if entry.name == "index.html" else f"{PATH}/{entry.name}"
            found[path] = StaticFile(kind, entry.read_bytes())
    return found


async def redirect(exchange: Exchange, context: RequestContext) -> None:
    """Answer `/inspector/`: the page's links are relative to `/inspector`."""
    exchange.respond(308, [*context.headers(), ("location", "../inspector")], b"")


def page_endpoints() -> dict[str, Handler]:
    """The files of the page. They hold no secret, and a browser has no key to ask for them with."""
    files = {path: file.answer for path, file in static_files().items()}
    return {**files, f"{PATH}/": redirect}
