"""`GET /openapi.json` and `GET /docs`: the API reference."""

from functools import cached_property

from toolwire.gateway.context import RequestContext
from toolwire.server.apis.openapi import Json, openapi
from toolwire.server.apis.reference_page import POLICY, reference_page
from toolwire.surfaces.base import send_json
from toolwire.surfaces.exchange import Exchange
from toolwire.surfaces.messages.operations import API as MESSAGES
from toolwire.surfaces.native.operations import API as NATIVE
from toolwire.surfaces.openai.operations import API as OPENAI
from toolwire.surfaces.responses.operations import API as RESPONSES

APIS = (OPENAI, RESPONSES, MESSAGES, NATIVE)


class Descriptions:
    """The two endpoints. Their content is generated on first use."""

    @cached_property
    def _document(self) -> Json:
        return openapi(APIS)

    async def document(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer `GET /openapi.json`."""
        send_json(exchange, context, self._document)

    async def page(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer `GET /docs`."""
        headers = [
            *context.headers(),
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", POLICY),
            ("x-content-type-options", "nosniff"),
        ]
        exchange.respond(200, headers, reference_page(self._document).encode())
