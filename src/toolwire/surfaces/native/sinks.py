"""The sinks of the native surface: events, or one body."""

from collections.abc import Callable, Sequence

import msgspec

from toolwire.errors import GatewayError
from toolwire.gateway.answer.collect import Collector, Whole
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import Event, ReasoningDelta, TextDelta
from toolwire.protocol.sse import KEEPALIVE
from toolwire.protocol.tools import AssistantCall
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.base import error_headers
from toolwire.surfaces.exchange import Exchange, Headers
from toolwire.surfaces.native.answer import (
    AnswerHead,
    answered,
    chat_response,
    done_event,
    encode_event,
    warnings_of,
)
from toolwire.surfaces.native.call_map import HEADER
from toolwire.surfaces.native.errors import error_body, error_event, status_of
from toolwire.surfaces.native.wire import (
    ChatResponse,
    ReasoningDeltaEvent,
    TextDeltaEvent,
    ToolCallEvent,
    UsageEvent,
)
from toolwire.surfaces.sink import SurfaceSink

_encode = msgspec.json.Encoder().encode
CONVERSATION = "toolwire-conversation"


class AnswerContext(msgspec.Struct, frozen=True):
    """The request data that a sink needs, besides its plan."""

    head: AnswerHead
    origins: Sequence[str] = ()
    call_map: Callable[[Sequence[AssistantCall]], str | None] = lambda _: None
    """Encodes the call map header, for a request without a conversation."""


class NativeSink(SurfaceSink):
    """The base of both sinks."""

    def __init__(
        self, exchange: Exchange, context: RequestContext, plan: Plan, about: AnswerContext
    ) -> None:
        super().__init__(exchange, context, plan)
        self.about = about
        self.collector = Collector()
        self._response: ChatResponse | None = None
        self._usage = TokenUsage(0, 0)

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        super().begin(begun)
        if not self.committed:
            self.collector = Collector()

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""
        if choice == 0:
            self.collector.feed(events)

    def make(self, whole: Whole, report: Report) -> ChatResponse:
        """Return the answer to the turn. It is built once, so what is stored is what is sent."""
        if self._response is None:
            self._usage = report.usage or self.estimated(whole.characters)
            warnings = warnings_of(self.about.head, report, self.ignored())
            self._response = chat_response(self.about.head, whole, self._usage, warnings)
        return self._response

    def headers(self, repairs: Sequence[str], findings: Sequence[str] = ()) -> Headers:
        """See `SurfaceSink.headers`."""
        headers = super().headers(repairs, findings)
        if self.about.head.conversation_id is not None:
            headers.append((CONVERSATION, self.about.head.conversation_id))
        return headers

    def error(self, error: GatewayError) -> tuple[int, Headers, bytes]:
        """See `SurfaceSink.error`."""
        return status_of(error), error_headers(error), error_body(error, self.about.origins)

    def error_event(self, error: GatewayError) -> bytes:
        """See `SurfaceSink.error_event`."""
        return error_event(error, self.about.origins)


class NativeWholeSink(NativeSink):
    """Sends one body at the end."""

    def done(self, report: Report) -> TokenUsage:
        """Send the body."""
        whole = self.collector.whole()
        response = self.make(whole, report)
        headers = self.headers(sorted(report.repairs))
        if call_map := self.about.call_map(whole.calls):
            headers.append((HEADER, call_map))
        self.respond(report, _encode(response), headers)
        return self._usage


class NativeStreamSink(NativeSink):
    """Sends text as it arrives, and calls once the turn is complete, validated and stored."""

    def __init__(
        self, exchange: Exchange, context: RequestContext, plan: Plan, about: AnswerContext
    ) -> None:
        super().__init__(exchange, context, plan, about)
        self._pending: list[bytes] = []

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
            self.start()
            self.exchange.write(b"".join(self._pending))
            self._pending.clear()

    def keepalive(self) -> None:
        """See `Sink.keepalive`."""
        self.start()
        self.exchange.write(KEEPALIVE)

    def done(self, report: Report) -> TokenUsage:
        """Send the last events, in one write."""
        whole = self.collector.whole()
        response = self.make(whole, report)
        for index, call in enumerate(whole.calls):
            self._pending.append(encode_event(ToolCallEvent(index, answered(call))))
        self._pending.append(encode_event(UsageEvent(response.usage)))
        self._pending.append(encode_event(done_event(response, self.about.call_map(whole.calls))))
        self.start()
        self.exchange.end(b"".join(self._pending))
        return self._usage

    def start(self) -> None:
        """See `SurfaceSink.start`."""
        if not self.exchange.started:
            super().start()
