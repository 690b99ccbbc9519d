"""The sinks of this surface: a stream of events, or one body. Both fill the same `Output`."""

from collections.abc import Callable, Sequence

import msgspec

from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import Event
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.base import error_headers
from toolwire.surfaces.exchange import JSON, STREAM, Exchange, Headers
from toolwire.surfaces.responses.errors import error_body, stream_code, worded_in_stream
from toolwire.surfaces.responses.kinds import Fields
from toolwire.surfaces.responses.output.output import Output
from toolwire.surfaces.responses.output.response import ResponseHead, response_fields
from toolwire.surfaces.responses.output.writer import EventWriter, NoEvents
from toolwire.surfaces.responses.request.fields import REPORTED_AS
from toolwire.surfaces.responses.request.tools import OfferedTools
from toolwire.surfaces.sink import SurfaceSink, labels_of

OVERFLOW = "context_length_exceeded"


class ResponseContext(msgspec.Struct, frozen=True):
    """The request data that the sinks need, besides its plan."""

    head: ResponseHead
    tools: OfferedTools
    positions: Sequence[int]
    new_id: Callable[[str], str]
    now: Callable[[], float]
    stored: bool = False
    """Whether the response will be stored."""
    sealed: bool = False
    """Whether reasoning includes `encrypted_content` for the client to send back."""
    overflow_in_stream: bool = False
    """Whether the client recognizes a full context only as a stream event."""


class _Sink(SurfaceSink):
    """The base of both sinks."""

    writes: type[EventWriter] = NoEvents

    def __init__(
        self, exchange: Exchange, context: RequestContext, plan: Plan, about: ResponseContext
    ) -> None:
        super().__init__(exchange, context, plan)
        self.about = about
        self._writer = self.writes()
        self._finished: Fields | None = None
        self._usage = TokenUsage(0, 0)
        self.output = self._fresh()

    def _fresh(self) -> Output:
        about = self.about
        return Output(self._writer, about.tools, about.new_id, sealed=about.sealed)

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        if self.begun is not None and not self.committed:  # another attempt
            self.output = self._fresh()
        super().begin(begun)

    def ignored(self) -> Sequence[str]:
        """See `SurfaceSink.ignored`."""
        return self.translated(REPORTED_AS)

    def adjusted(self) -> Sequence[str]:
        """See `SurfaceSink.adjusted`."""
        return [REPORTED_AS.get(name, name) for name in super().adjusted()]

    def error(self, error: GatewayError) -> tuple[int, Headers, bytes]:
        """See `SurfaceSink.error`."""
        return error.status, error_headers(error), error_body(error, self.about.positions)

    def error_event(self, error: GatewayError) -> bytes:
        """See `SurfaceSink.error_event`. Some clients only know the event `error`, and others only
        `response.failed`."""
        message, param = worded_in_stream(error, self.about.positions)
        code = stream_code(error)
        self._writer.event("error", {"code": code, "message": message, "param": param})
        failure = {"code": code, "message": message}
        response = response_fields("failed", self.output.items, error=failure)  # is not stored
        self._writer.response("response.failed", self.about.head.pieces(response))
        return self._writer.take()

    def finished(self, report: Report) -> Fields:
        """Return the changing fields of the final response, which is known before it is sent."""
        if self._finished is None:
            self.output.finish()
            self._usage = report.usage or self.estimated(self.output.characters)
            self._finished = self._ended(self._usage)
        return self._finished

    def _ended(self, usage: TokenUsage) -> Fields:
        cut, items = self.output.cut, self.output.items
        stored = self.about.stored
        if cut is None:
            now = int(self.about.now())
            return response_fields("completed", items, stored=stored, usage=usage, completed_at=now)
        details = {"reason": cut}
        return response_fields(
            "incomplete", items, stored=stored, usage=usage, incomplete_details=details
        )


class ResponseStreamSink(_Sink):
    """Sends events as they occur."""

    writes = EventWriter

    def send(self, choice: int, events: list[Event]) -> None:  # noqa: ARG002 - there is only one
        """See `Sink.send`."""
        if self.committed:
            self.output.feed(events)
            return
        self.start()
        self.output.feed(events)
        self.committed = self.output.begun

    def flush(self) -> None:
        """See `Sink.flush`."""
        if self._writer:
            self.exchange.write(self._writer.take())

    def keepalive(self) -> None:
        """See `Sink.keepalive`. It is an event, since Codex counts only these."""
        if self.exchange.started:
            self._progress()
        self.start()
        self.flush()

    def done(self, report: Report) -> TokenUsage:
        """Send the last events, in one write."""
        self.start()
        response = self.finished(report)
        if notes := self.notes(report):
            response = {**response, "toolwire": notes}
        pieces = self.about.head.pieces(response)
        self._writer.response(f"response.{response['status']}", pieces)
        self.exchange.end(self._writer.take())
        return self._usage

    def fail(self, error: GatewayError) -> None:
        """See `SurfaceSink.fail`."""
        if error.code == OVERFLOW and self.about.overflow_in_stream:
            self.start()
        super().fail(error)

    def start(self) -> None:
        """See `SurfaceSink.start`."""
        if self.exchange.started:
            return
        super().start()
        response = response_fields("in_progress", stored=self.about.stored)
        self._writer.response("response.created", self.about.head.pieces(response))
        self._progress()

    def _progress(self) -> None:
        about = self.about
        response = response_fields("in_progress", stored=about.stored)
        self._writer.response("response.in_progress", about.head.pieces(response, short=True))


class ResponseWholeSink(_Sink):
    """Sends one body at the end."""

    def send(self, choice: int, events: list[Event]) -> None:  # noqa: ARG002 - there is only one
        """See `Sink.send`."""
        self.output.feed(events)

    def done(self, report: Report) -> TokenUsage:
        """Send the body."""
        response = self.about.head.encode(self.finished(report))
        self.respond(report, response, self.headers(sorted(report.repairs), labels_of(report)))
        return self._usage


def empty_answer(head: ResponseHead, *, stream: bool) -> tuple[Headers, bytes]:
    """Return the headers and the body of a response without output, which needs no model."""
    ended = response_fields("completed", usage=TokenUsage(0, 0), completed_at=head.created)
    if not stream:
        return [JSON], head.encode(ended)
    writer, begun = EventWriter(), response_fields("in_progress")
    writer.response("response.created", head.pieces(begun))
    writer.response("response.in_progress", head.pieces(begun, short=True))
    writer.response("response.completed", head.pieces(ended))
    return [*STREAM], writer.take()
