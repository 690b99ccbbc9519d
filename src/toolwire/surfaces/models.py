"""`GET /v1/models` and `GET /v1/models/{id}`: the served models.

One answer serves clients of both APIs: models, and the list, have OpenAI's and Anthropic's fields.
The list is paged on request. A `*` route has no model names, so they are fetched from its backends.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec

from toolwire.errors import ModelNotFound, UpstreamError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.routes import Routes
from toolwire.surfaces.base import send_json
from toolwire.surfaces.exchange import Exchange


class Models(msgspec.Struct, frozen=True):
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
        page, more = page_of([*names], exchange.request.target.partition(b"?")[2])
        body = {
            "object": "list",
            "data": [self._model(name, context.key_name or "") for name in page],
            "has_more": more,
            "first_id": page[0] if page else None,
            "last_id": page[-1] if page else None,
        }
        send_json(exchange, context, body)

    async def show(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer `GET /v1/models/{id}`."""
        name = unquote(exchange.request.path.removeprefix("/v1/models/"))
        model = self.routes.find(name)
        if model is self.routes.any and name not in await self.fetch():
            raise ModelNotFound(
                f"The model '{name[:100]}' does not exist or you do not have access to it."
            )
        send_json(exchange, context, self._model(name, context.key_name or ""))

    def _model(self, name: str, asker: str) -> dict[str, Any]:
        model = self.routes.find(name)
        strategies = model.strategies
        backends = model.pool.backends
        found = {b.name: strategies.format_of(name, b.capabilities) for b in backends}
        told = {b.name: "without tools" for b in backends if not b.capabilities.has_tools}
        about: dict[str, Any] = {
            "mode": strategies.mode,
            "formats": {backend: (f.format, f.reason) for backend, f in found.items()},
            "learned": told | strategies.known(name, asker),
        }
        if model.aliases:
            about |= {"name": model.name, "aliases": model.aliases}
        return {
            "id": name,
            "object": "model",
            "created": self.started,
            "owned_by": "toolwire",
            "type": "model",
            "display_name": name,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.started)),
            "toolwire": about,
        }


def page_of(names: list[str], query: bytes) -> tuple[list[str], bool]:
    """Return the requested page of names, and whether there are more in its direction.

    `limit`, `after_id` and `before_id` are Anthropic's. Without them, all names are returned. Other
    parameters are ignored.
    """
    given = {name: values[-1] for name, values in parse_qs(query.decode("latin-1")).items()}
    limit = given.get("limit", "")
    most = max(int(limit), 1) if limit.isdecimal() and len(limit) < _DIGITS else len(names)
    if "after_id" in given:
        names = names[_index(names, given["after_id"]) + 1 :]
    elif "before_id" in given:
        names = names[: _index(names, given["before_id"])]
        return names[-most:], len(names) > most
    return names[:most], len(names) > most


_DIGITS = 10


def _index(names: list[str], name: str) -> int:
    """Return the index of a name. An unknown name is past the end, so that paging ends."""
    return names.index(name) if name in names else len(names)
