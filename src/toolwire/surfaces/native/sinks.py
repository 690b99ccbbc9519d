"""The sinks of the native surface: events, or one body."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from toolwire.errors import GatewayError
from toolwire.gateway.collect import Collector, Whole
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import Event, ReasoningDelta, TextDelta
from toolwire.protocol.sse import KEEPALIVE
from toolwire.protocol.tools import AssistantCall
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.exchange import Exchange, Headers, header_list, header_word
from toolwire.surfaces.native.answer import (
    AnswerHead,
    answered,
    chat_response,
    done_event,
    encode_event,
    usage_of,
    warnings_of,
)
from toolwire.surfaces.native.call_map import HEADER
from toolwire.surfaces.native.errors import error_body, error_event, error_headers, status_of
from toolwire.surfaces.native.wire import (
    ChatResponse,
    ReasoningDeltaEvent,
    TextDeltaEvent,
    ToolCallEvent,
    UsageEvent,
)

_encode = msgspec.json.Encoder().encode
STREAM_HEADERS = (
    ("content-type", "text/event-stream; charset=utf-8"),
    ("cache-control", "no-cache"),
    ("x-accel-buffering", "no"),
)
CONVERSATION = "toolwire-conversation"


@dataclass(slots=True)
class AnswerFrame:
    """The request data that a sink needs."""

    exchange: Exchange
    context: RequestContext
    plan: Plan
    head: AnswerHead
    origins: Sequence[str] = ()
    call_map: Callable[[Sequence[AssistantCall]], str | None] = lambda _: None
    """Encodes the call map header, for a request without a conversation."""
    begun: Begun | None = None
    response: ChatResponse | None = field(default=None)
    """The answer, once it exists."""

    def make(self, whole: Whole, report: Report) -> ChatResponse:
        """Return the answer to the turn. It is built once, so what is stored is what is sent."""
        if self.response is None:
            usage = usage_of(report, self.plan, whole.characters)
            ignored = self.begun.ignored if self.begun else self.plan.request.ignored
            warnings = warnings_of(self.head, report, ignored)
            self.response = chat_response(self.head, whole, usage, warnings)
        return self.response

    def headers(self, repairs: Sequence[str]) -> Headers:
        """Return the headers that describe the answer."""
        context = self.context
        headers = context.headers()
        if self.begun is not None:
            headers.append(("toolwire-backend", header_word(context.backend)))
            headers.append(("toolwire-mode", header_word(context.mode)))
            if self.begun.ignored:
                headers.append(("toolwire-ignored-params", header_list(self.begun.ignored)))
        if self.head.conversation_id is not None:
            headers.append((CONVERSATION, self.head.conversation_id))
        if repairs:
            headers.append(("toolwire-repairs", header_list(repairs)))
        return headers


class _Sink:
    """The base of both sinks."""

    def __init__(self, frame: AnswerFrame) -> None:
        self.frame = frame
        self.exchange = frame.exchange
        self.collector = Collector()

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        self.frame.begun = begun
        self.frame.context.mode, self.frame.context.backend = begun.mode, begun.backend

    def fail(self, error: GatewayError) -> None:
        """Send an error body, or an error event if a stream has started."""
        frame = self.frame
        if self.exchange.started:
            self.exchange.end(error_event(error, frame.origins))
            return
        headers = [*frame.headers(frame.plan.repairs), *error_headers(error)]
        self.exchange.respond(status_of(error), headers, error_body(error, frame.origins))


class WholeSink(_Sink):
    """Sends one body at the end."""

    committed = False

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        super().begin(begun)
        self.collector = Collector()

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""
        if choice == 0:
            self.collector.feed(events)

    def flush(self) -> None:
        """See `Sink.flush`."""

    def keepalive(self) -> None:
        """Nothing can be sent before a whole body."""

    def done(self, report: Report) -> TokenUsage:
        """Send the body."""
        whole, frame = self.collector.whole(), self.frame
        response = frame.make(whole, report)
        headers = frame.headers(sorted(report.repairs))
        headers.append(("content-type", "application/json"))
        if call_map := frame.call_map(whole.calls):
            headers.append((HEADER, call_map))
        if report.usage is None:
            headers.append(("toolwire-usage", "estimated"))
        self.exchange.respond(200, headers, _encode(response))
        return usage_of(report, frame.plan, whole.characters)


class StreamSink(_Sink):
    """Sends text as it arrives, and calls once the turn is complete, validated and stored."""

    def __init__(self, frame: AnswerFrame) -> None:
        super().__init__(frame)
        self.committed = False
        self._pending: list[bytes] = []

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        super().begin(begun)
        if not self.committed:
            self.collector = Collector()

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""
        if choice != 0:
            return
        self.collector.feed(events)
        for event in events:
            if isinstance(event, TextDelta):
                logprobs = msgspec.Raw(event.logprobs) if event.logprobs else msgspec.UNSET
                self._pending.append(encode_event(TextDeltaEvent(event.text, logprobs)))
            elif isinstance(event, ReasoningDelta):
                self._pending.append(encode_event(ReasoningDeltaEvent(event.text)))
        if self._pending:
            self.committed = True

    def flush(self) -> None:
        """See `Sink.flush`."""
        if self._pending:
            self._start()
            self.exchange.write(b"".join(self._pending))
            self._pending.clear()

    def keepalive(self) -> None:
        """See `Sink.keepalive`."""
        self._start()
        self.exchange.write(KEEPALIVE)

    def done(self, report: Report) -> TokenUsage:
        """Send the last events, in one write."""
        whole, frame = self.collector.whole(), self.frame
        response = frame.make(whole, report)
        for index, call in enumerate(whole.calls):
            self._pending.append(encode_event(ToolCallEvent(index, answered(call))))
        self._pending.append(encode_event(UsageEvent(response.usage)))
        self._pending.append(encode_event(done_event(response, frame.call_map(whole.calls))))
        self._start()
        self.exchange.end(b"".join(self._pending))
        return usage_of(report, frame.plan, whole.characters)

    def fail(self, error: GatewayError) -> None:
        """See `_Sink.fail`. Pending output is sent before the error."""
        self.flush()
        super().fail(error)

    def _start(self) -> None:
        if not self.exchange.started:
            headers = [*self.frame.headers(self.frame.plan.repairs), *STREAM_HEADERS]
            self.exchange.start(200, headers)
