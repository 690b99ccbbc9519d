"""The trace of one request, which explains its outcome. Recorded only if tracing is on.

It holds everything, unmasked: `trace.text` decides what is written to disk.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from toolwire.backends.base import BackendRequest
from toolwire.errors import GatewayError
from toolwire.formats import Trace
from toolwire.gateway.answer.collect import Collector, Whole
from toolwire.gateway.plan import Plan
from toolwire.gateway.repair.findings import Finding
from toolwire.gateway.report import Report
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.tool_limits import ToolLimits
from toolwire.protocol.events import Event
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.usage import TokenUsage

Send = Callable[[int, list[Event]], None]


@dataclass(slots=True)
class AttemptTrace:
    """One attempt at a backend. Times are seconds since the request arrived."""

    backend: str
    strategy: ToolStrategy
    began: float
    final: bool
    resumed: bool
    told: tuple[ChatMessage, ...] = ()
    """The messages that were added after the previous attempt."""
    asked: BackendRequest | None = None
    """What the backend was sent."""
    heard: list[tuple[float, list[Fragment]]] = field(default_factory=list)
    spans: dict[int, Trace] = field(default_factory=dict)
    sent: list[tuple[int, list[Event]]] = field(default_factory=list)
    done: bool | None = None
    error: GatewayError | None = None
    findings: list[Finding] = field(default_factory=list)
    repairs: frozenset[str] = frozenset()

    def record(self, findings: list[Finding], repairs: set[str]) -> None:
        """Record the results of the attempt."""
        self.findings, self.repairs = findings, frozenset(repairs)

    def format_trace(self, choice: int) -> Trace:
        """Return the parser's trace for a choice, which maps spans of text to their meaning."""
        return self.spans.setdefault(choice, Trace())

    def recording(self, send: Send) -> Send:
        """Wrap `send`, and record everything that is sent."""

        def record(choice: int, events: list[Event]) -> None:
            self.sent.append((choice, events))
            send(choice, events)

        return record

    def outcome(self) -> dict[int, Whole]:
        """Return what was sent, joined by choice."""
        return join_sent(self.sent)


@dataclass(slots=True)
class TurnTrace:
    """One request, from its body to its end."""

    request_id: str
    body: bytes
    at: float
    """When it arrived, in seconds since 1970."""
    surface: str = ""
    profile: str = ""
    key: str = ""
    """The name of the client's API key."""
    took: float = 0.0
    """Its duration, in seconds."""
    plan: Plan | None = None
    route: str = ""
    repair_history: bool = False
    custom_tools: bool = False
    tool_limits: ToolLimits | None = None
    attempts: list[AttemptTrace] = field(default_factory=list)
    error: GatewayError | None = None
    gone: bool = False
    """Whether the client disconnected, or the gateway stopped, before the end."""
    usage: TokenUsage | None = None
    repairs: frozenset[str] = frozenset()
    retries: tuple[str, ...] = ()

    def record(self, report: Report) -> None:
        """Record the results of the turn."""
        self.usage, self.repairs = report.usage, frozenset(report.repairs)
        self.retries = tuple(report.retries)

    def attempt(
        self,
        backend: str,
        strategy: ToolStrategy,
        plan: Plan,
        at: float,
        *,
        final: bool,
        resumed: bool,
    ) -> AttemptTrace:
        """Add an attempt at a backend with this plan."""
        known = sum(len(attempt.told) for attempt in self.attempts)
        if self.plan is not None:
            known += len(self.plan.outgoing.messages)
        told = tuple(plan.outgoing.messages[known:])
        traced = AttemptTrace(backend, strategy, at, final=final, resumed=resumed, told=told)
        self.attempts.append(traced)
        return traced

    def drop_frames(self) -> None:
        """Drop the tracebacks of errors: their frames reference the request and this trace."""
        for error in (self.error, *(attempt.error for attempt in self.attempts)):
            if error is not None:
                error.__traceback__ = None


class TraceSwitch(msgspec.Struct):
    """Whether new requests are traced. An attribute, because every request reads it."""

    on: bool = True


def join_sent(sent: list[tuple[int, list[Event]]]) -> dict[int, Whole]:
    """Join the events of each choice into a message."""
    collectors: dict[int, Collector] = {}
    for choice, events in sent:
        collectors.setdefault(choice, Collector()).feed(events)
    return {choice: collector.whole() for choice, collector in sorted(collectors.items())}
