"""`GET /openapi.json` and `GET /docs`: the API reference."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from toolwire.gateway.context import RequestContext
from toolwire.later import Later
from toolwire.surfaces.base import send_json
from toolwire.surfaces.exchange import Exchange

_REFERENCE: Later[Callable[[], dict[str, Any]]] = Later(
    "toolwire.server.apis.reference", "reference"
)
_PAGE: Later[Callable[[dict[str, Any]], str]] = Later(
    "toolwire.server.apis.reference_page", "reference_page"
)
_POLICY: Later[str] = Later("toolwire.server.apis.reference_page", "POLICY")


class Descriptions:
    """The two endpoints. Their content is generated on first use."""

    @cached_property
    def _document(self) -> dict[str, Any]:
        return _REFERENCE()()

    async def document(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer `GET /openapi.json`."""
        send_json(exchange, context, self._document)

    async def page(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer `GET /docs`."""
        headers = [
            *context.headers(),
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", _POLICY()),
            ("x-content-type-options", "nosniff"),
        ]
        exchange.respond(200, headers, _PAGE()(self._document).encode())
