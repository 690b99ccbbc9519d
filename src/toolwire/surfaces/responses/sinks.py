"""The sinks of this surface: a stream of events, or one body. Both fill the same `Output`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import Event
from toolwire.protocol.usage import Usage
from toolwire.surfaces.base import error_headers
from toolwire.surfaces.exchange import Exchange, Headers
from toolwire.surfaces.responses.errors import error_body, stream_code, worded
from toolwire.surfaces.responses.fields import REPORTED_AS
from toolwire.surfaces.responses.kinds import Fields
from toolwire.surfaces.responses.output import Output
from toolwire.surfaces.responses.response import ResponseHead
from toolwire.surfaces.responses.tools import OfferedTools
from toolwire.surfaces.responses.writer import EventWriter, NoEvents
from toolwire.surfaces.sink import SurfaceSink, labels_of

_encode = msgspec.json.Encoder().encode
OVERFLOW = "context_length_exceeded"


@dataclass(frozen=True, slots=True)
class Answering:
    """The request data that the sinks need, besides its plan."""

    head: ResponseHead
    tools: OfferedTools
    positions: Sequence[int]
    new_id: Callable[[str], str]
    now: Callable[[], float]
    sealed: bool = False
    """Whether reasoning includes `encrypted_content` for the client to send back."""
    overflow_in_stream: bool = False
    """Whether the client recognizes a full context only as a stream event."""


class _Sink(SurfaceSink):
    """The base of both sinks."""

    writes: type[EventWriter] = NoEvents

    def __init__(
        self, exchange: Exchange, context: RequestContext, plan: Plan, about: Answering
    ) -> None:
        super().__init__(exchange, context, plan)
        self.about = about
        self._writer = self.writes()
        self._finished: Fields | None = None
        self._usage = Usage(0, 0)
        self.output = self._fresh()

    def _fresh(self) -> Output:
        about = self.about
        return Output(self._writer, about.tools, about.new_id, sealed=about.sealed)

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        super().begin(begun)
        if not self.committed:
            self.output = self._fresh()

    def ignored(self) -> Sequence[str]:
        """See `SurfaceSink.ignored`."""
        unsent = self.begun.ignored if self.begun is not None else ()
        return [*self.plan.request.ignored, *(REPORTED_AS.get(name, name) for name in unsent)]

    def error(self, error: GatewayError) -> tuple[int, Headers, bytes]:
        """See `SurfaceSink.error`."""
        return error.status, error_headers(error), error_body(error, self.about.positions)

    def error_event(self, error: GatewayError) -> bytes:
        """See `SurfaceSink.error_event`. Some clients only know the event `error`, and others only
        `response.failed`."""
        message, param = worded(error, self.about.positions)
        code = stream_code(error)
        self._writer.event("error", {"code": code, "message": message, "param": param})
        failure = {"code": code, "message": message}
        response = self.about.head.object("failed", self.output.items, error=failure)
        self._writer.event("response.failed", {"response": response})
        return self._writer.take()

    def finished(self, report: Report) -> Fields:
        """Return the final response, which is known before it is sent."""
        if self._finished is None:
            self.output.finish()
            self._usage = self.usage(report, self.output.characters)
            self._finished = self._ended(self._usage)
        return self._finished

    def _ended(self, usage: Usage) -> Fields:
        cut, items = self.output.cut, self.output.items
        head = self.about.head
        if cut is None:
            now = int(self.about.now())
            return head.object("completed", items, usage=usage, completed_at=now)
        details = {"reason": cut}
        return head.object("incomplete", items, usage=usage, incomplete_details=details)


class StreamSink(_Sink):
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

    def done(self, report: Report) -> Usage:
        """Send the last events, in one write."""
        self.start()
        response = self.finished(report)
        if notes := self.notes(report):
            response = {**response, "toolwire": notes}
        self._writer.event(f"response.{response['status']}", {"response": response})
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
        self._writer.event("response.created", {"response": self.about.head.object("in_progress")})
        self._progress()

    def _progress(self) -> None:
        response = self.about.head.object("in_progress", short=True)
        self._writer.event("response.in_progress", {"response": response})


class WholeSink(_Sink):
    """Sends one body at the end."""

    def send(self, choice: int, events: list[Event]) -> None:  # noqa: ARG002 - there is only one
        """See `Sink.send`."""
        self.output.feed(events)

    def done(self, report: Report) -> Usage:
        """Send the body."""
        response = _encode(self.finished(report))
        self.respond(report, response, self.headers(sorted(report.repairs), labels_of(report)))
        return self._usage
