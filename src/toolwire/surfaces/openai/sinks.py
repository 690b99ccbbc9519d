"""The sinks of the OpenAI surface: a stream of chunks, or one body."""

from collections.abc import Sequence

from toolwire.errors import GatewayError
from toolwire.gateway.collect import Collector
from toolwire.gateway.context import RequestContext
from toolwire.gateway.estimate import estimate
from toolwire.gateway.plan import Plan
from toolwire.gateway.repair.findings import Finding
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import Event, FinishReason, TurnEnd
from toolwire.protocol.sse import KEEPALIVE
from toolwire.protocol.usage import Usage
from toolwire.surfaces.exchange import Exchange, Headers, header_list, header_word
from toolwire.surfaces.openai.chunks import AnswerHead, ChunkEncoder
from toolwire.surfaces.openai.errors import error_body, error_event, error_headers
from toolwire.surfaces.openai.whole import encode_completion


class _Sink:
    """The base of both sinks: headers and errors."""

    def __init__(
        self, exchange: Exchange, context: RequestContext, plan: Plan, head: AnswerHead
    ) -> None:
        self.exchange = exchange
        self.context = context
        self.plan = plan
        self.head = head
        self._begun: Begun | None = None

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        self._begun = begun
        self.context.mode, self.context.backend = begun.mode, begun.backend

    def headers(self, repairs: Sequence[str], findings: Sequence[Finding] = ()) -> Headers:
        """Return the headers that describe this answer."""
        context, request = self.context, self.plan.request
        headers = context.headers()
        headers.append(("toolwire-profile", context.profile))
        ignored: Sequence[str] = request.ignored
        adjusted: Sequence[str] = request.adjusted
        if self._begun is not None:
            headers.append(("toolwire-backend", header_word(context.backend)))
            headers.append(("toolwire-mode", header_word(context.mode)))
            ignored = self._begun.ignored
            adjusted = (*adjusted, *self._begun.adjusted)
        if ignored:
            headers.append(("toolwire-ignored-params", header_list(ignored)))
        if adjusted:
            headers.append(("toolwire-adjusted-params", header_list(adjusted)))
        if repairs:
            headers.append(("toolwire-repairs", header_list(repairs)))
        if findings:
            labels = [finding.label for finding in findings]
            headers.append(("toolwire-findings", header_list(labels)))
        return headers

    def fail(self, error: GatewayError) -> None:
        """Send an error body, or an error event if a stream has started."""
        if self.exchange.started:
            # An orderly end, without [DONE]: if the connection breaks, some clients report that
            # instead of the error.
            self.exchange.end(error_event(error))
            return
        headers = [*self.headers(self.plan.repairs), *error_headers(error)]
        self.exchange.respond(error.status, headers, error_body(error))

    def estimated(self, characters: int) -> Usage:
        """Return the usage, estimated if the backend did not report it."""
        outgoing = self.plan.outgoing
        return estimate(outgoing.messages, outgoing.tools.size, characters)


class StreamSink(_Sink):
    """Sends chunks as they arrive. The head of the answer waits for the first chunk: until then, an
    error can have its own status, and another backend can be tried."""

    def __init__(
        self, exchange: Exchange, context: RequestContext, plan: Plan, head: AnswerHead
    ) -> None:
        super().__init__(exchange, context, plan, head)
        self.committed = False
        self._encoder = ChunkEncoder(head, include_usage=plan.request.include_usage)
        self._chunks: list[bytes] = []
        self._reasons: list[tuple[int, FinishReason]] = []

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`. The end of a choice waits for `done`."""
        last = events[-1]
        if type(last) is TurnEnd:
            self._reasons.append((choice, last.reason))
        if chunk := self._encoder.encode(choice, events):
            self.committed = True
            self._chunks.append(chunk)

    def flush(self) -> None:
        """See `Sink.flush`."""
        chunks = self._chunks
        if chunks:
            if not self.exchange.started:
                self._start()
            self.exchange.write(chunks[0] if len(chunks) == 1 else b"".join(chunks))
            chunks.clear()

    def keepalive(self) -> None:
        """See `Sink.keepalive`."""
        if not self.exchange.started:
            self._start()
        self.exchange.write(KEEPALIVE)

    def done(self, report: Report) -> Usage:
        """Send the last chunks, in one write."""
        usage = report.usage or self.estimated(self._encoder.characters)
        notes: dict[str, object] = {}
        repairs = sorted(report.repairs.difference(self.plan.repairs))
        if repairs:
            notes["repairs"] = repairs
        if report.findings:
            notes["findings"] = report.findings
        asked = self.plan.request.include_usage
        if asked and report.usage is None:
            notes["usage"] = "estimated"
        shown = usage if asked else None
        self._chunks.append(self._encoder.end(self._reasons, shown, notes, report.about))
        if not self.exchange.started:
            self._start()
        self.exchange.end(b"".join(self._chunks))
        return usage

    def fail(self, error: GatewayError) -> None:
        """See `_Sink.fail`. Pending output is sent before the error."""
        self.flush()
        super().fail(error)

    def _start(self) -> None:
        headers = self.headers(self.plan.repairs)
        headers.append(("content-type", "text/event-stream; charset=utf-8"))
        headers.append(("cache-control", "no-cache"))
        headers.append(("x-accel-buffering", "no"))
        self.exchange.start(200, headers)


class WholeSink(_Sink):
    """Sends one body at the end. Nothing is sent earlier, so a failed attempt is invisible."""

    committed = False

    def __init__(
        self, exchange: Exchange, context: RequestContext, plan: Plan, head: AnswerHead
    ) -> None:
        super().__init__(exchange, context, plan, head)
        self._choices: dict[int, Collector] = {}

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        super().begin(begun)
        self._choices.clear()

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""
        self._choices.setdefault(choice, Collector()).feed(events)

    def flush(self) -> None:
        """See `Sink.flush`."""

    def keepalive(self) -> None:
        """Nothing can be sent before a whole body."""

    def done(self, report: Report) -> Usage:
        """Send the body."""
        wholes = {index: collector.whole() for index, collector in self._choices.items()}
        usage = report.usage or self.estimated(sum(w.characters for w in wholes.values()))
        headers = self.headers(sorted(report.repairs), report.findings)
        headers.append(("content-type", "application/json"))
        if report.usage is None:
            headers.append(("toolwire-usage", "estimated"))
        body = encode_completion(self.head, wholes, usage, report.about)
        self.exchange.respond(200, headers, body)
        return usage
