"""Passes other `/v1/*` requests (`completions`, `embeddings`, ...) through, if they are listed.

Only the path, the body and its type reach a backend; the client's keys, other headers and query do
not. The body is parsed whatever its Content-Type, and goes to the backends of the model it names,
under their own name for it. A body that cannot be parsed is refused: if a backend read it
differently, it could reach a model that no route serves.
"""

import asyncio
import re
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from toolwire.backends.base import Backend
from toolwire.backends.named_body import NamedBody
from toolwire.errors import UpstreamError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.observer import UNOBSERVED, TurnObserver
from toolwire.gateway.report import Report
from toolwire.gateway.retry import Tries, TurnLimits, reason_of
from toolwire.gateway.routes import ANY, Routes, ServedModel, is_pattern
from toolwire.gateway.turn import off_loop
from toolwire.protocol.json_limits import MOST_VALUES
from toolwire.surfaces.exchange import Exchange, HttpRequest, header_list, header_word
from toolwire.surfaces.explain import missing
from toolwire.surfaces.passing.body import read_json, read_named_form, refuse_choice
from toolwire.surfaces.passing.multipart import is_form

_HEADERS = (b"content-type", b"content-encoding", b"retry-after", b"content-disposition")
_QUERY = re.compile(rb"[\x21-\x7e]*+")
_NO_BODY = NamedBody("", None, (), (), ())


class Passthrough(msgspec.Struct, frozen=True):
    """The surface."""

    routes: Routes
    limits: TurnLimits
    new_id: Callable[[str], str]
    """Generates a random id with this prefix."""
    max_values: int = MOST_VALUES
    observer: TurnObserver = UNOBSERVED
    """Called for each attempt at a backend."""

    async def answer(self, exchange: Exchange, context: RequestContext) -> None:
        """Answer one request, whose method and path are in the list."""
        request = exchange.request
        body = await self._read(request)
        model, body = self._routed(body, request.method)
        context.model, context.route = body.model, model.name
        report = context.report = Report()
        tries = Tries(model.pool, self.limits)
        while True:
            member = tries.pick()
            context.backend = report.backend = member.backend.name
            self.observer.attempted(report.backend)
            try:
                with model.pool.using(member):
                    await self._pass(exchange, context, member.backend, body)
            except UpstreamError as error:
                self.observer.failed(report.backend, error)
                delay = None if exchange.started else tries.delay(member, error)
                if delay is None:
                    raise
                report.retries.append(reason_of(error))
                self.observer.retried(report.backend, reason_of(error))
            else:
                self.observer.answered(report.backend)
                return
            await asyncio.sleep(delay)

    async def _read(self, request: HttpRequest) -> NamedBody:
        if request.method != "POST":
            return _NO_BODY
        return await off_loop(len(request.body), self._body, request)

    def _body(self, request: HttpRequest) -> NamedBody:
        kind = request.header(b"content-type")
        if is_form(kind):
            return read_named_form(kind, request.body, self.new_id("toolwire-"))
        return read_json(request.body, self.max_values)

    def _routed(self, body: NamedBody, method: str) -> tuple[ServedModel, NamedBody]:
        """Return the requested model, and the body with its upstream name."""
        if body.model is not None:
            model = self.routes.find(body.model)
        elif method == "POST" and self.routes.any is None and len(self.routes.models) > 1:
            raise missing("model")
        else:
            model = self.routes.default()
        if model.name == ANY or method != "POST":
            return model, body
        if body.chooses:
            raise refuse_choice(body.chooses)
        return model, body if is_pattern(model.name) else replace(body, model=model.name)

    async def _pass(
        self, exchange: Exchange, context: RequestContext, backend: Backend, body: NamedBody
    ) -> None:
        request = exchange.request
        target, ignored = _target(request)
        answer = await backend.forward(request.method, target, body)
        try:
            exchange.on_flow(answer.pause, answer.resume)
            headers = [
                *context.headers(),
                ("toolwire-backend", header_word(backend.name)),
                *ignored,
            ]
            headers += [
                (name.decode(), answer.headers[name].decode("latin-1"))
                for name in _HEADERS
                if name in answer.headers
            ]
            if request.method == "HEAD":
                # No body follows, whatever length the backend announces.
                exchange.respond(answer.status, headers, b"")
                return
            exchange.start(answer.status, headers)
            exchange.write(b"")
            await answer.relay(exchange.write)
            exchange.end()
        finally:
            answer.close()


def _target(request: HttpRequest) -> tuple[str, list[tuple[str, str]]]:
    """Return the path below the base URL, and a header that names dropped query parameters.

    No inference endpoint has a query, and some servers read a model's name from it. Requests that
    only read data keep their query.
    """
    path = request.path.removeprefix("/v1")
    raw = request.target.partition(b"?")[2]
    query = raw.decode("latin-1")
    if request.method != "POST" and _QUERY.fullmatch(raw):
        return f"{path}?{query}" if query else path, []
    if not query:
        return path, []
    names = dict.fromkeys("?" + pair.partition("=")[0] for pair in query.split("&", 64))
    return path, [("toolwire-ignored-params", header_list(list(names)))]
