"""The sinks of the OpenAI surface: a stream of chunks, or one body."""

from toolwire.errors import GatewayError
from toolwire.gateway.answer.collect import Collector
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import Event, FinishReason, TurnEnd
from toolwire.protocol.sse import KEEPALIVE
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.base import error_headers
from toolwire.surfaces.exchange import Exchange, Headers
from toolwire.surfaces.openai.chunks import ChunkEncoder, CompletionHead
from toolwire.surfaces.openai.errors import error_body, error_event
from toolwire.surfaces.openai.whole import encode_completion
from toolwire.surfaces.sink import SurfaceSink, labels_of


class _Sink(SurfaceSink):
    """The base of both sinks."""

    def __init__(
        self, exchange: Exchange, context: RequestContext, plan: Plan, head: CompletionHead
    ) -> None:
        super().__init__(exchange, context, plan)
        self.head = head

    def error(self, error: GatewayError) -> tuple[int, Headers, bytes]:
        """See `SurfaceSink.error`."""
        return error.status, error_headers(error), error_body(error)

    def error_event(self, error: GatewayError) -> bytes:
        """See `SurfaceSink.error_event`. There is no `[DONE]` after it."""
        return error_event(error)


class ChatStreamSink(_Sink):
    """Sends chunks as they arrive."""

    def __init__(
        self, exchange: Exchange, context: RequestContext, plan: Plan, head: CompletionHead
    ) -> None:
        super().__init__(exchange, context, plan, head)
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
                self.start()
            self.exchange.write(chunks[0] if len(chunks) == 1 else b"".join(chunks))
            chunks.clear()

    def keepalive(self) -> None:
        """See `Sink.keepalive`."""
        if not self.exchange.started:
            self.start()
        self.exchange.write(KEEPALIVE)

    def done(self, report: Report) -> TokenUsage:
        """Send the last chunks, in one write."""
        usage = report.usage or self.estimated(self._encoder.characters)
        notes = self.notes(report)
        asked = self.plan.request.include_usage
        if not asked:
            notes.pop("usage", None)
        shown = usage if asked else None
        self._chunks.append(self._encoder.end(self._reasons, shown, notes, report.about))
        if not self.exchange.started:
            self.start()
        self.exchange.end(b"".join(self._chunks))
        return usage


class ChatWholeSink(_Sink):
    """Sends one body at the end."""

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        super().begin(begun)
        self._choices: dict[int, Collector] = {}

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""
        self._choices.setdefault(choice, Collector()).feed(events)

    def done(self, report: Report) -> TokenUsage:
        """Send the body."""
        wholes = {index: collector.whole() for index, collector in self._choices.items()}
        usage = report.usage or self.estimated(sum(w.characters for w in wholes.values()))
        body = encode_completion(self.head, wholes, usage, report.about)
        self.respond(report, body, self.headers(sorted(report.repairs), labels_of(report)))
        return usage
