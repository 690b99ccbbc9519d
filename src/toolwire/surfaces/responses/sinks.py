"""The sinks of this surface: a stream of events, or one body. Both fill the same `Output`."""

from collections.abc import Callable, Sequence

import msgspec

from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.estimate import estimate
from toolwire.gateway.plan import Plan
from toolwire.gateway.repair.findings import Finding
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import Event
from toolwire.protocol.usage import Usage
from toolwire.surfaces.exchange import Exchange, Headers, header_list, header_word
from toolwire.surfaces.openai_error import error_headers
from toolwire.surfaces.responses.errors import error_body, stream_code, worded
from toolwire.surfaces.responses.fields import REPORTED_AS
from toolwire.surfaces.responses.kinds import Fields
from toolwire.surfaces.responses.output import Output
from toolwire.surfaces.responses.response import ResponseHead, response_fields
from toolwire.surfaces.responses.tools import OfferedTools
from toolwire.surfaces.responses.writer import EventWriter, NoEvents

OVERFLOW = "context_length_exceeded"


class Answering(msgspec.Struct, frozen=True):
    """The request data that the sinks need, besides its plan."""

    exchange: Exchange
    context: RequestContext
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


class _Sink:
    """The base of both sinks."""

    def __init__(self, about: Answering, plan: Plan, writer: EventWriter) -> None:
        self.about = about
        self.plan = plan
        self.committed = False
        self._writer = writer
        self._begun: Begun | None = None
        self._finished: Fields | None = None
        self._estimated: Usage | None = None
        self.output = self._fresh()

    def _fresh(self) -> Output:
        about = self.about
        return Output(self._writer, about.tools, about.new_id, sealed=about.sealed)

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        if self._begun is not None and not self.committed:  # another attempt
            self.output = self._fresh()
        self._begun = begun
        context = self.about.context
        context.mode, context.backend = begun.mode, begun.backend

    def headers(self, repairs: Sequence[str], findings: Sequence[Finding] = ()) -> Headers:
        """Return the headers that describe this answer."""
        context, request = self.about.context, self.plan.request
        headers = context.headers()
        headers.append(("toolwire-profile", context.profile))
        ignored: Sequence[str] = request.ignored
        if self._begun is not None:
            headers.append(("toolwire-backend", header_word(context.backend)))
            headers.append(("toolwire-mode", header_word(context.mode)))
            if request.own is not None and request.own.wire == self._begun.wire:
                ignored = [name for name in ignored if name not in request.own.reported]
            if self._begun.ignored:
                unsent = [REPORTED_AS.get(name, name) for name in self._begun.ignored]
                ignored = [*ignored, *unsent]
        if ignored:
            headers.append(("toolwire-ignored-params", header_list(ignored)))
        if request.adjusted:
            headers.append(("toolwire-adjusted-params", header_list(request.adjusted)))
        if repairs:
            headers.append(("toolwire-repairs", header_list(repairs)))
        if findings:
            labels = [finding.label for finding in findings]
            headers.append(("toolwire-findings", header_list(labels)))
        return headers

    def fail(self, error: GatewayError) -> None:
        """Send an error body."""
        headers = [*self.headers(self.plan.repairs), *error_headers(error)]
        body = error_body(error, self.about.positions)
        self.about.exchange.respond(error.status, headers, body)

    def usage_of(self, report: Report) -> Usage:
        """Return the usage of the turn, estimated if the backend did not report it."""
        if report.usage is not None:
            return report.usage
        if self._estimated is None:
            self._estimated = self._estimate()
        return self._estimated

    def _estimate(self) -> Usage:
        outgoing = self.plan.outgoing
        return estimate(outgoing.messages, outgoing.tools.size, self.output.characters)

    def finished(self, report: Report) -> Fields:
        """Return the changing fields of the final response, which is known before it is sent."""
        if self._finished is None:
            self.output.finish()
            self._finished = self._ended(self.usage_of(report))
        return self._finished

    def _ended(self, usage: Usage) -> Fields:
        cut, items = self.output.cut, self.output.items
        stored = self.about.stored
        if cut is None:
            now = int(self.about.now())
            return response_fields("completed", items, stored=stored, usage=usage, completed_at=now)
        details = {"reason": cut}
        return response_fields(
            "incomplete", items, stored=stored, usage=usage, incomplete_details=details
        )


class StreamSink(_Sink):
    """Sends events as they occur. The first ones wait until the backend answers: until then, an
    error can have its own status, and another backend can be tried."""

    def __init__(self, about: Answering, plan: Plan) -> None:
        super().__init__(about, plan, EventWriter())

    def send(self, choice: int, events: list[Event]) -> None:  # noqa: ARG002 - there is only one
        """See `Sink.send`."""
        if self.committed:
            self.output.feed(events)
            return
        self._start()
        self.output.feed(events)
        self.committed = self.output.begun

    def flush(self) -> None:
        """See `Sink.flush`."""
        if self._writer:
            self.about.exchange.write(self._writer.take())

    def keepalive(self) -> None:
        """See `Sink.keepalive`. It is an event, since Codex counts only these."""
        if self.about.exchange.started:
            self._progress()
        self._start()
        self.flush()

    def done(self, report: Report) -> Usage:
        """Send the last events, in one write."""
        self._start()
        response = self.finished(report)
        notes: Fields = {}
        if repairs := sorted(report.repairs.difference(self.plan.repairs)):
            notes["repairs"] = repairs
        if report.findings:
            notes["findings"] = report.findings
        if report.usage is None:
            notes["usage"] = "estimated"
        if notes:
            response = {**response, "toolwire": notes}
        pieces = self.about.head.pieces(response)
        self._writer.response(f"response.{response['status']}", pieces)
        self.about.exchange.end(self._writer.take())
        return self.usage_of(report)

    def fail(self, error: GatewayError) -> None:
        """Send an error body or, if a stream has started, two error events: some clients only know
        the event `error`, and others only `response.failed`."""
        about = self.about
        if not about.exchange.started:
            if error.code != OVERFLOW or not about.overflow_in_stream:
                super().fail(error)
                return
            self._start()
        message, param = worded(error, about.positions)
        code = stream_code(error)
        self._writer.event("error", {"code": code, "message": message, "param": param})
        failure = {"code": code, "message": message}
        items, stored = self.output.items, about.stored
        response = response_fields("failed", items, stored=stored, error=failure)
        self._writer.response("response.failed", about.head.pieces(response))
        about.exchange.end(self._writer.take())

    def _start(self) -> None:
        about = self.about
        if about.exchange.started:
            return
        headers = self.headers(self.plan.repairs)
        headers.append(("content-type", "text/event-stream; charset=utf-8"))
        headers.append(("cache-control", "no-cache"))
        headers.append(("x-accel-buffering", "no"))
        about.exchange.start(200, headers)
        response = response_fields("in_progress", stored=about.stored)
        self._writer.response("response.created", about.head.pieces(response))
        self._progress()

    def _progress(self) -> None:
        about = self.about
        response = response_fields("in_progress", stored=about.stored)
        self._writer.response("response.in_progress", about.head.pieces(response, short=True))


class WholeSink(_Sink):
    """Sends one body at the end. Nothing is sent earlier, so a failed attempt is invisible."""

    def __init__(self, about: Answering, plan: Plan) -> None:
        super().__init__(about, plan, NoEvents())

    def send(self, choice: int, events: list[Event]) -> None:  # noqa: ARG002 - there is only one
        """See `Sink.send`."""
        self.output.feed(events)

    def flush(self) -> None:
        """See `Sink.flush`."""

    def keepalive(self) -> None:
        """Nothing can be sent before a whole body."""

    def done(self, report: Report) -> Usage:
        """Send the body."""
        response = self.finished(report)
        headers = self.headers(sorted(report.repairs), report.findings)
        headers.append(("content-type", "application/json"))
        if report.usage is None:
            headers.append(("toolwire-usage", "estimated"))
        self.about.exchange.respond(200, headers, self.about.head.encode(response))
        return self.usage_of(report)
