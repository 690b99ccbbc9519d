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
from toolwire.protocol.usage import TokenUsage
from toolwire.surfaces.exchange import Exchange, Headers
from toolwire.surfaces.messages.answer import BlockList, BlockStream
from toolwire.surfaces.messages.errors import error_body, error_event, error_headers, status_of
from toolwire.surfaces.messages.reader import ParsedMessagesRequest
from toolwire.surfaces.messages.tokens import estimated_answer, estimated_prompt, usage_fields
from toolwire.surfaces.messages.tools import LEFT_OUT
from toolwire.surfaces.sink import SurfaceSink, labels_of

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
    "enable_thinking": "thinking",
    "reasoning_content": "messages.thinking",
    "file": "document",
}
"""This API's names for backend parameters."""
_encode = msgspec.json.Encoder().encode


class _Sink(SurfaceSink):
    """The base of both sinks: the head of the message, headers and errors.

    `again` takes an error and returns whether the turn is retried without its cause.
    """

    def __init__(
        self,
        exchange: Exchange,
        context: RequestContext,
        plan: Plan,
        asked: ParsedMessagesRequest,
        *,
        message_id: str,
        again: Callable[[GatewayError], bool],
    ) -> None:
        super().__init__(exchange, context, plan)
        self.asked = asked
        self._message_id = message_id
        self._again = again
        self._prompt = 0

    def fail(self, error: GatewayError) -> None:
        """See `SurfaceSink.fail`. While a client has got nothing but pings, the turn can be retried
        in the same stream."""
        error.request_id = self.context.request_id
        self.flush()
        if self.committed or not self._again(error):
            super().fail(error)

    def error(self, error: GatewayError) -> tuple[int, Headers, bytes]:
        """See `SurfaceSink.error`."""
        body = error_body(error, self.asked.origins, self._prompt_tokens())
        return status_of(error), error_headers(error), body

    def error_event(self, error: GatewayError) -> bytes:
        """See `SurfaceSink.error_event`."""
        return error_event(error, self.asked.origins, self._prompt_tokens())

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
        if not self._prompt:
            outgoing = self.plan.outgoing
            self._prompt = estimated_prompt(outgoing.messages, outgoing.tools.size)
        return self._prompt

    def estimated(self, characters: int) -> TokenUsage:
        """See `SurfaceSink.estimated`."""
        return TokenUsage(self._prompt_tokens(), estimated_answer(characters))

    def ignored(self) -> Sequence[str]:
        """See `SurfaceSink.ignored`."""
        return self.translated(_OURS)

    def adjusted(self) -> Sequence[str]:
        """See `SurfaceSink.adjusted`."""
        return [_OURS.get(name, name) for name in super().adjusted()]

    def headers(self, repairs: Sequence[str], findings: Sequence[str] = ()) -> Headers:
        """See `SurfaceSink.headers`."""
        if self.own:
            repairs = [repair for repair in repairs if not repair.startswith(LEFT_OUT)]
        return [*super().headers(repairs, findings), ("request-id", self.context.request_id)]


class MessagesStreamSink(_Sink):
    """Sends events as they arrive."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._blocks = self._fresh()
        self._retries = self.exchange.started
        """Whether the stream was started by an earlier attempt, whose headers know less."""
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

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""
        if not choice:
            self._blocks.feed(events)
            self.committed = self._blocks.count > 0

    def flush(self) -> None:
        """See `Sink.flush`."""
        if written := self._blocks.take():
            if not self.exchange.started:
                self.start()
            self.exchange.write(written)
        elif self._blocks.hidden > self._pinged:
            self._pinged = self._blocks.hidden + _PING_EVERY
            self.keepalive()

    def keepalive(self) -> None:
        """See `Sink.keepalive`."""
        if not self.exchange.started:
            self.start()
        self.exchange.write(PING)

    def done(self, report: Report) -> TokenUsage:
        """Send the last events, in one write."""
        self._blocks.finish()
        usage = report.usage or self.estimated(self._blocks.characters)
        delta = self._ending(self._blocks.stop_reason, report)
        end: dict[str, Any] = {"type": "message_delta", "delta": delta}
        fields = dict(self._blocks.fields)
        end["usage"] = {**fields.pop("usage", {}), **usage_fields(usage)}
        edits = fields.pop("context_management", None)
        delta |= fields
        if edits is not None:
            end["context_management"] = edits
        notes = self.notes(report)
        if self._retries:
            notes["adjusted"] = self.adjusted()
        if notes:
            end["toolwire"] = notes
        if not self.exchange.started:
            self.start()
        last = b"event: message_delta\ndata: " + _encode(end) + b"\n\n"
        self.exchange.end(self._blocks.take() + last + _STOP)
        return usage

    def start(self) -> None:
        """See `SurfaceSink.start`."""
        super().start()
        message = self._message(usage_fields(TokenUsage(self._prompt_tokens(), 1)))
        start = _encode({"type": "message_start", "message": message})
        self.exchange.write(b"event: message_start\ndata: " + start + b"\n\n")


class MessagesWholeSink(_Sink):
    """Sends one message at the end."""

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

    def done(self, report: Report) -> TokenUsage:
        """Send the message."""
        blocks = self._blocks
        blocks.finish()
        usage = report.usage or self.estimated(blocks.characters)
        labels = labels_of(report)
        labels += [f"malformed_tool_arguments:{name}" for name in blocks.unreadable]
        ending = self._ending(blocks.stop_reason, report)
        fields = dict(blocks.fields)
        figures = {**fields.pop("usage", {}), **usage_fields(usage)}
        body = self._message(figures, content=blocks.blocks, **{**ending, **fields})
        headers = self.headers(sorted(report.repairs), list(dict.fromkeys(labels)))
        self.respond(report, _encode(body), headers)
        return usage
