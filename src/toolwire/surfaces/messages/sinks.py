"""The sinks of this surface: a stream of events, or one message."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from toolwire.errors import GatewayError
from toolwire.gateway.context import RequestContext
from toolwire.gateway.plan import Plan
from toolwire.gateway.report import Report
from toolwire.gateway.sink import Begun
from toolwire.protocol.events import Event
from toolwire.protocol.fragments import CONTEXT_FULL, PAUSED
from toolwire.protocol.usage import Usage
from toolwire.surfaces.exchange import Exchange, Headers, header_list, header_word
from toolwire.surfaces.messages.answer import BlockList, BlockStream
from toolwire.surfaces.messages.errors import error_body, error_event, error_headers, status_of
from toolwire.surfaces.messages.reader import Asked
from toolwire.surfaces.messages.tokens import estimated_answer, estimated_prompt, usage_fields
from toolwire.surfaces.messages.tools import LEFT_OUT

PING = b'event: ping\ndata: {"type":"ping"}\n\n'
_PING_EVERY = 400
"""Characters of hidden thinking between two pings, so that a model that thinks for minutes does not
look disconnected."""
_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
_OURS: Mapping[str, str] = {
    "stop": "stop_sequences",
    "user": "metadata.user_id",
    "reasoning_effort": "output_config.effort",
    "response_format": "output_config.format",
    "chat_template_kwargs": "thinking",
    "reasoning_content": "messages.thinking",
    "file": "document",
}
"""This API's names for backend parameters."""
_encode = msgspec.json.Encoder().encode


class _Sink:
    """The base of both sinks: the head of the message, headers and errors.

    `again` takes an error and returns whether the turn is retried without its cause.
    """

    def __init__(
        self,
        exchange: Exchange,
        context: RequestContext,
        plan: Plan,
        asked: Asked,
        *,
        message_id: str,
        again: Callable[[GatewayError], bool],
    ) -> None:
        self.exchange = exchange
        self.context = context
        self.plan = plan
        self.asked = asked
        self._message_id = message_id
        self._again = again
        self._begun: Begun | None = None

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        self._begun = begun
        self.context.mode, self.context.backend = begun.mode, begun.backend

    def fail(self, error: GatewayError) -> None:
        """Send an error body, or an error event if a stream has started."""
        error.request_id = self.context.request_id
        about = self.asked.origins, self._prompt_tokens()
        if self.exchange.started:
            self.exchange.end(error_event(error, *about))
        elif not self._again(error):
            headers = [*self._headers(self.plan.repairs), *error_headers(error)]
            self.exchange.respond(status_of(error), headers, error_body(error, *about))

    @property
    def _own(self) -> bool:
        """Whether the backend speaks this API itself."""
        return self._begun is not None and self._begun.own

    def _message(self, usage: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
        return {
            "id": self._message_id,
            "type": "message",
            "role": "assistant",
            "model": self.plan.request.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            **fields,
            "usage": usage,
        }

    def _ending(self, reason: str, report: Report) -> dict[str, Any]:
        met = report.stopped_by if report.stopped_by in self.plan.request.sampling.stop else None
        if met is not None and reason == "end_turn":
            return {"stop_reason": "stop_sequence", "stop_sequence": met}
        if report.ended_by == PAUSED and reason == "end_turn":
            reason = "pause_turn"
        filled = self.asked.fills_context or report.ended_by == CONTEXT_FULL
        if reason == "max_tokens" and filled:
            reason = "model_context_window_exceeded"
        ending: dict[str, Any] = {"stop_reason": reason, "stop_sequence": None}
        if reason == "refusal":
            ending["stop_details"] = {"type": "refusal"}
        return ending

    def _prompt_tokens(self) -> int:
        outgoing = self.plan.outgoing
        return estimated_prompt(outgoing.messages, outgoing.tools.size)

    def _usage(self, report: Report, characters: int) -> Usage:
        if report.usage is not None:
            return report.usage
        return Usage(self._prompt_tokens(), estimated_answer(characters))

    def _headers(self, repairs: Sequence[str], labels: Sequence[str] = ()) -> Headers:
        """Return the headers that describe this answer."""
        context, request = self.context, self.plan.request
        headers = context.headers()
        headers.append(("request-id", context.request_id))
        headers.append(("toolwire-profile", context.profile))
        ignored, adjusted = list(request.ignored), list(request.adjusted)
        if request.origin is not None and not self._own:
            ignored += request.origin.ignored
        if self._begun is not None:
            headers.append(("toolwire-backend", header_word(context.backend)))
            headers.append(("toolwire-mode", header_word(context.mode)))
            ignored += [_OURS.get(name, name) for name in self._begun.ignored]
            adjusted += [_OURS.get(name, name) for name in self._begun.adjusted]
        if self._own:
            repairs = [repair for repair in repairs if not repair.startswith(LEFT_OUT)]
        named: dict[str, Sequence[str]] = {"ignored-params": ignored, "adjusted-params": adjusted}
        named |= {"repairs": repairs, "findings": labels}
        headers += [(f"toolwire-{n}", header_list(values)) for n, values in named.items() if values]
        return headers


class StreamSink(_Sink):
    """Sends events as they arrive. The head of the answer waits for the first block: until then,
    an error can have its own status, and another backend can be tried."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._blocks = self._fresh()
        self._pinged = 0
        """Characters of hidden thinking at which the next ping is sent."""

    def _fresh(self) -> BlockStream:
        names = self.plan.request.tools.originals
        return BlockStream(names, thinking=self.asked.shows_thinking)

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        super().begin(begun)
        if not self.committed:
            self._blocks, self._pinged = self._fresh(), 0

    @property
    def committed(self) -> bool:
        """See `Sink.committed`."""
        return self._blocks.count > 0

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""
        if not choice:
            self._blocks.feed(events)

    def flush(self) -> None:
        """See `Sink.flush`."""
        if written := self._blocks.take():
            if not self.exchange.started:
                self._start()
            self.exchange.write(written)
        elif self._blocks.hidden > self._pinged:
            self._pinged = self._blocks.hidden + _PING_EVERY
            self.keepalive()

    def keepalive(self) -> None:
        """See `Sink.keepalive`."""
        if not self.exchange.started:
            self._start()
        self.exchange.write(PING)

    def done(self, report: Report) -> Usage:
        """Send the last events, in one write."""
        self._blocks.finish()
        usage = self._usage(report, self._blocks.characters)
        delta = self._ending(self._blocks.stop_reason, report)
        end: dict[str, Any] = {"type": "message_delta", "delta": delta}
        fields = dict(self._blocks.fields)
        end["usage"] = {**fields.pop("usage", {}), **usage_fields(usage)}
        edits = fields.pop("context_management", None)
        delta |= fields
        if edits is not None:
            end["context_management"] = edits
        if notes := self._notes(report):
            end["toolwire"] = notes
        if not self.exchange.started:
            self._start()
        last = b"event: message_delta\ndata: " + _encode(end) + b"\n\n"
        self.exchange.end(self._blocks.take() + last + _STOP)
        return usage

    def fail(self, error: GatewayError) -> None:
        """See `_Sink.fail`. Pending output is sent before the error."""
        self.flush()
        super().fail(error)

    def _notes(self, report: Report) -> dict[str, Any]:
        """Return notes that became known after the headers were sent."""
        notes: dict[str, Any] = {}
        if repairs := sorted(report.repairs.difference(self.plan.repairs)):
            notes["repairs"] = repairs
        if report.findings:
            notes["findings"] = report.findings
        if report.usage is None:
            notes["usage"] = "estimated"
        return notes

    def _start(self) -> None:
        headers = self._headers(self.plan.repairs)
        headers.append(("content-type", "text/event-stream; charset=utf-8"))
        headers.append(("cache-control", "no-cache"))
        headers.append(("x-accel-buffering", "no"))
        self.exchange.start(200, headers)
        message = self._message(usage_fields(Usage(self._prompt_tokens(), 1)))
        start = _encode({"type": "message_start", "message": message})
        self.exchange.write(b"event: message_start\ndata: " + start + b"\n\n")


class WholeSink(_Sink):
    """Sends one message at the end. Nothing is sent earlier, so a failed attempt is invisible."""

    committed = False

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._blocks = self._fresh()

    def _fresh(self) -> BlockList:
        names = self.plan.request.tools.originals
        return BlockList(names, thinking=self.asked.shows_thinking)

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        super().begin(begun)
        self._blocks = self._fresh()

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""
        if not choice:
            self._blocks.feed(events)

    def flush(self) -> None:
        """See `Sink.flush`."""

    def keepalive(self) -> None:
        """Nothing can be sent before a whole message."""

    def done(self, report: Report) -> Usage:
        """Send the message."""
        blocks = self._blocks
        blocks.finish()
        usage = self._usage(report, blocks.characters)
        labels = [finding.label for finding in report.findings]
        labels += [f"malformed_tool_arguments:{name}" for name in blocks.unreadable]
        headers = self._headers(sorted(report.repairs), list(dict.fromkeys(labels)))
        headers.append(("content-type", "application/json"))
        if report.usage is None:
            headers.append(("toolwire-usage", "estimated"))
        ending = self._ending(blocks.stop_reason, report)
        fields = dict(blocks.fields)
        figures = {**fields.pop("usage", {}), **usage_fields(usage)}
        body = self._message(figures, content=blocks.blocks, **{**ending, **fields})
        self.exchange.respond(200, headers, _encode(body))
        return usage
