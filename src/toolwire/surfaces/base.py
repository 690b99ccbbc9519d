"""A surface: an API that clients speak. It only decodes requests and encodes answers."""

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import msgspec

from toolwire.errors import GatewayError, MethodNotAllowed
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.turn import StoredHistory, TurnSink
from toolwire.protocol.requests import Request
from toolwire.surfaces.exchange import JSON, Exchange, Headers
from toolwire.surfaces.profiles import Profile, profile_for


class ErrorWriter(Protocol):
    """Encodes errors in the format of one API."""

    def error(self, error: GatewayError) -> tuple[Headers, bytes]:
        """Return the headers and the body of an error response."""
        ...


class SurfaceCaller(ABC):
    """One request to a surface: see `Caller`. A surface adds how it is read and answered."""

    surface: ClassVar[str]
    """The surface's name in traces."""

    def __init__(self, exchange: Exchange, context: RequestContext) -> None:
        self.exchange = exchange
        self.context = context
        self.body = exchange.request.body
        self.flow = exchange.on_flow

    @property
    def gone(self) -> bool:
        """See `Caller.gone`."""
        return self.exchange.gone

    @property
    def conversation(self) -> StoredHistory | None:
        """See `Caller.conversation`."""
        return None

    @abstractmethod
    def read(self) -> Request:
        """See `Caller.read`."""

    @abstractmethod
    def sink(self, plan: Plan) -> TurnSink:
        """See `Caller.sink`."""


def send_json(
    exchange: Exchange, context: RequestContext, body: Any, *headers: tuple[str, str]
) -> None:
    """Answer with a JSON body."""
    exchange.respond(200, [*context.headers(), *headers, JSON], msgspec.json.encode(body))


def profile_of(exchange: Exchange, context: RequestContext) -> Profile:
    """Return the profile of the client, and note its name."""
    http = exchange.request
    profile = profile_for(http.header(b"user-agent"), http.header(b"toolwire-profile"))
    context.profile = profile.name
    return profile


def error_headers(error: GatewayError) -> Headers:
    """Return the headers of an error response."""
    headers = [JSON]
    if error.retry_after is not None:
        headers.append(("retry-after", str(math.ceil(error.retry_after))))
    if error.lasting:
        # Some libraries retry on status alone, and others for a minute, unless told not to.
        headers.append(("x-should-retry", "false"))
    if isinstance(error, MethodNotAllowed):
        headers.append(("allow", ", ".join(error.allowed)))
    return headers
