"""`GET /v1/models` and `GET /v1/models/{id}`: the models that are served.

A `*` route has no names of its own, so its backends are asked for theirs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import msgspec

from toolwire.errors import ModelNotFound, UpstreamError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.routes import Routes
from toolwire.surfaces.exchange import Exchange

_JSON = ("content-type", "application/json")


@dataclass(frozen=True, slots=True)
class Models:
    """The endpoint. `started` is used as the time at which models were "created"."""

    routes: Routes
    started: int
    fetch: Callable[[], Awaitable[list[str]]]
    """Fetches the model names of the `*` route's backends; raises `UpstreamError`."""

    async def list(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer `GET /v1/models`."""
        names = dict.fromkeys(self.routes.names)
        if self.routes.any is not None:
            try:
                names |= dict.fromkeys(await self.fetch())
            except UpstreamError:
                # Clients also use the list to check that the server is up.
                if not names:
                    raise
        asker = context.key_name or ""
        body = {"object": "list", "data": [self._model(name, asker) for name in names]}
        exchange.respond(200, [*context.headers(), _JSON], msgspec.json.encode(body))

    async def show(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer `GET /v1/models/{id}`."""
        name = unquote(exchange.request.path.removeprefix("/v1/models/"))
        if name not in self.routes.names and (
            self.routes.any is None or name not in await self.fetch()
        ):
            raise ModelNotFound(
                f"The model '{name[:100]}' does not exist or you do not have access to it."
            )
        body = msgspec.json.encode(self._model(name, context.key_name or ""))
        exchange.respond(200, [*context.headers(), _JSON], body)

    def _model(self, name: str, asker: str) -> dict[str, Any]:
        model = self.routes.find(name)
        strategies = model.strategies
        backends = model.pool.backends
        found = {b.name: strategies.format_of(name, b.capabilities) for b in backends}
        told = {b.name: "without tools" for b in backends if not b.capabilities.has_tools}
        return {
            "id": name,
            "object": "model",
            "created": self.started,
            "owned_by": "toolwire",
            "toolwire": {
                "mode": strategies.mode,
                "formats": {backend: (f.format, f.reason) for backend, f in found.items()},
                "learned": told | strategies.known(name, asker),
            },
        }
