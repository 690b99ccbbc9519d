"""The sinks of every surface: the headers of an answer, its start, and its errors."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.estimate import estimate
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import Event
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.exchange import (
    ESTIMATED,
    JSON,
    STREAM,
    Exchange,
    Headers,
    header_list,
    header_word,
)

_LISTS = (
    "toolwire-ignored-params", "toolwire-adjusted-params", "toolwire-repairs", "toolwire-findings",
)  # fmt: skip
"""The headers that list names."""


class SurfaceSink(ABC):
    """Sends one answer: see `TurnSink`. Unless `flush` is implemented, nothing is sent before the
    end, so a failed attempt is invisible.

    A stream starts with its first output: until then, an error can have its own status, and another
    backend can be tried.
    """

    committed = False

    def __init__(self, exchange: Exchange, context: RequestContext, plan: Plan) -> None:
        self.exchange = exchange
        self.context = context
        self.plan = plan
        self.begun: Begun | None = None

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        self.begun = begun
        self.context.mode, self.context.backend = begun.mode, begun.backend

    @abstractmethod
    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""

    def flush(self) -> None:  # noqa: B027 - a whole body has nothing to send yet
        """See `Sink.flush`."""

    def keepalive(self) -> None:  # noqa: B027 - nor can it say that it is coming
        """See `Sink.keepalive`."""

    @abstractmethod
    def done(self, report: Report) -> TokenUsage:
        """See `TurnSink.done`."""

    def fail(self, error: GatewayError) -> None:
        """Send an error body or, if a stream has started, pending output and an error event."""
        self.flush()
        if self.exchange.started:
            # An orderly end: if the connection breaks, some clients report that instead.
            self.exchange.end(self.error_event(error))
            return
        status, headers, body = self.error(error)
        self.exchange.respond(status, [*self.headers(self.plan.repairs), *headers], body)

    @abstractmethod
    def error(self, error: GatewayError) -> tuple[int, Headers, bytes]:
        """Return the status, the headers and the body of an error response."""

    @abstractmethod
    def error_event(self, error: GatewayError) -> bytes:
        """Return the end of a stream that fails."""

    def ignored(self) -> Sequence[str]:
        """Return the client's parameters that are not sent, in the words of this API."""
        return self.plan.request.ignored if self.begun is None else self.begun.ignored

    @property
    def own(self) -> bool:
        """Whether the backend speaks this API itself."""
        return self.begun is not None and self.begun.own

    def translated(self, words: Mapping[str, str]) -> Sequence[str]:
        """Return the parameters that are not sent, with other words for some of them.

        A backend that speaks this API itself gets more of them.
        """
        request, unsent = self.plan.request, self.begun.ignored if self.begun is not None else ()
        origin = request.origin if not self.own else None
        others = origin.ignored if origin is not None else ()
        return [*request.ignored, *others, *(words.get(name, name) for name in unsent)]

    def adjusted(self) -> Sequence[str]:
        """Return the client's parameters that are sent with another value."""
        adjusted: Sequence[str] = self.plan.request.adjusted
        if self.begun is None or not self.begun.adjusted:
            return adjusted
        return [*adjusted, *self.begun.adjusted]

    def headers(self, repairs: Sequence[str], findings: Sequence[str] = ()) -> Headers:
        """Return the headers that describe this answer."""
        context = self.context
        headers = context.headers()
        if context.profile:
            headers.append(("toolwire-profile", context.profile))
        if self.begun is not None:
            headers.append(("toolwire-backend", header_word(context.backend)))
            headers.append(("toolwire-mode", header_word(context.mode)))
        said = (self.ignored(), self.adjusted(), repairs, findings)
        if any(said):
            named = zip(_LISTS, said, strict=True)
            headers += [(name, header_list(names)) for name, names in named if names]
        return headers

    def start(self) -> None:
        """Start a stream."""
        self.exchange.start(200, [*self.headers(self.plan.repairs), *STREAM])

    def respond(self, report: Report, body: bytes, headers: Headers) -> None:
        """Send a whole answer."""
        headers.append(JSON)
        if report.usage is None:
            headers.append(ESTIMATED)
        self.exchange.respond(200, headers, body)

    def notes(self, report: Report) -> dict[str, Any]:
        """Return what became known after the headers of a stream were sent."""
        notes: dict[str, Any] = {}
        if repairs := sorted(report.repairs.difference(self.plan.repairs)):
            notes["repairs"] = repairs
        if report.findings:
            notes["findings"] = report.findings
        if report.usage is None:
            notes["usage"] = "estimated"
        return notes

    def estimated(self, characters: int) -> TokenUsage:
        """Return the usage of a turn whose answer has so many characters."""
        outgoing = self.plan.outgoing
        return estimate(outgoing.messages, outgoing.tools.size, characters)


def labels_of(report: Report) -> list[str]:
    """Return the findings of a turn as words for a header."""
    return [finding.label for finding in report.findings] if report.findings else []
