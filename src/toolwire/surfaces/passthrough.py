"""Other `/v1/*` requests (`completions`, `embeddings`, ...): handed to the backend as they are.

Only the path below the backend's base URL, the body and its type go through; keys and other
headers of the client's do not. A JSON body that names a model goes to that model's backends,
which put their own name for it there if they have one; everything else goes to the default model.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from toolwire.backends.base import RawAnswer
from toolwire.backends.model_name import named_model
from toolwire.errors import NotFound
from toolwire.gateway.context import RequestContext
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.surfaces.exchange import Exchange

_TARGET = re.compile(rb"/v1(/[A-Za-z0-9_\-]+(?:[./][A-Za-z0-9_\-:]+)*)(\?[\x21-\x7e]*)?")
_HEADERS = (b"content-type", b"retry-after", b"content-disposition")


@dataclass(frozen=True, slots=True)
class Passthrough:
    """The surface. `send(model, method, target, content_type, body)` reaches the backend."""

    routes: Routes
    send: Callable[[ServedModel, str, str, str, bytes], Awaitable[RawAnswer]]

    async def answer(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer one request."""
        request = exchange.request
        found = _TARGET.fullmatch(request.target)
        if found is None:
            raise NotFound(f"There is nothing at '{request.path[:200]}'.")
        target = (found[1] + (found[2] or b"")).decode("ascii")
        kind = request.header(b"content-type") or "application/json"
        model = self._model(request.body, kind)
        context.route = model.name
        answer = await self.send(model, request.method, target, kind, request.body)
        try:
            exchange.on_flow(answer.pause, answer.resume)
            headers = [
                (name.decode(), answer.headers[name].decode("latin-1"))
                for name in _HEADERS
                if name in answer.headers
            ]
            if request.method == "HEAD":
                # No body follows, whatever length the backend announces.
                exchange.respond(answer.status, [*context.headers(), *headers], b"")
                return
            exchange.start(answer.status, [*context.headers(), *headers])
            exchange.write(b"")
            await answer.relay(exchange.write)
            exchange.end()
        finally:
            answer.close()

    def _model(self, body: bytes, kind: str) -> ServedModel:
        name = named_model(body) if "json" in kind else None
        return self.routes.find(name) if name else self.routes.default()
