"""One turn for any surface: plan it, run it, and account for it.

A surface brings a request and a sink; which one it is, is not known here. A conversation that is
kept somewhere comes in at two places: before the plan, to put the history before what is new, and
after the end, to keep what was said.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from toolwire.errors import GatewayError, ShuttingDown
from toolwire.gateway.collect import Collector, Whole
from toolwire.gateway.context import RequestContext
from toolwire.gateway.observer import UNOBSERVED, TurnObserver
from toolwire.gateway.plan import DEFAULT_REPAIR_POLICY, Plan, RepairPolicy, is_long, make_plan
from toolwire.gateway.pump import Pump
from toolwire.gateway.repair.costly import Checker
from toolwire.gateway.report import Report
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.sink import Begun, Flow, Sink
from toolwire.gateway.token_count import TokenCounter, count_usage
from toolwire.gateway.trace.records import TraceSwitch, TurnTrace
from toolwire.gateway.watchdog import Watchdog
from toolwire.protocol.events import Event
from toolwire.protocol.requests import Request
from toolwire.protocol.usage import Usage

LARGE_BODY = 128 * 1024
"""Reading a body this large takes long enough to make other clients wait: not in the loop."""


class TurnSink(Sink, Protocol):
    """A sink that also ends the answer."""

    def done(self, report: Report) -> Usage:
        """The turn is made: send the end of it. What it consumed, estimated if nobody said."""
        ...

    def fail(self, error: GatewayError) -> None:
        """The turn could not be made: say so, in a body or, if a stream has begun, in it."""
        ...


class Conversation(Protocol):
    """A history that is kept between turns."""

    async def load(self, request: Request) -> Request:
        """The request, with what was said before it."""
        ...

    async def keep(self, request: Request, answer: Whole, report: Report) -> None:
        """The turn was made: keep it. Raises `GatewayError` if that is impossible, and the client
        is told so."""
        ...


class Caller(Protocol):
    """Whoever asks for a turn: a surface, and the client it speaks to."""

    @property
    def surface(self) -> str:
        """The name of the surface."""
        ...

    @property
    def body(self) -> bytes:
        """What the client sent."""
        ...

    @property
    def gone(self) -> bool:
        """Whether the client has left."""
        ...

    @property
    def conversation(self) -> Conversation | None:
        """Where the history is kept, if it is not in the request. Asked for after `read`."""
        ...

    def read(self) -> Request:
        """The request. Raises `RequestError`."""
        ...

    def sink(self, plan: Plan) -> TurnSink:
        """Where the answer goes."""
        ...

    @property
    def flow(self) -> Flow:
        """Takes what to do when the client does not keep up, and when it has caught up."""
        ...


@dataclass(frozen=True, slots=True)
class TurnService:
    """Makes turns. Holds what every request needs, nothing of any of them."""

    routes: Routes
    limits: TurnLimits
    repair_history: bool
    new_call_id: Callable[[], str]
    now: Callable[[], float]
    """Seconds since 1970."""
    repair_policy: RepairPolicy = DEFAULT_REPAIR_POLICY
    keep: Callable[[TurnTrace], None] | None = None
    """Takes the trace of each request that is over; None: no traces are made."""
    tracing: TraceSwitch = field(default_factory=TraceSwitch)
    """Whether anybody wants the trace of a request that begins now."""
    checker: Checker | None = None
    """Checks calls that would make others wait; None: they are not checked."""
    watchdog: Watchdog = field(default_factory=Watchdog)
    observer: TurnObserver = UNOBSERVED
    """Told about each attempt at a backend."""

    async def answer(self, caller: Caller, context: RequestContext) -> None:
        """Answer one request. Raises `GatewayError` while there is no sink to tell it to."""
        if self.keep is None or not self.tracing.on:
            await self._answer(caller, context)
            return
        trace = TurnTrace(context.request_id, caller.body, self.now(), surface=caller.surface)
        try:
            await self._answer(caller, context, trace)
        except GatewayError as error:
            trace.error = error
            raise
        except asyncio.CancelledError:
            trace.gone = True
            raise
        finally:
            trace.profile, trace.key = context.profile, context.key_name or ""
            trace.took = self.now() - trace.at
            self.keep(trace)

    async def _answer(
        self, caller: Caller, context: RequestContext, trace: TurnTrace | None = None
    ) -> None:
        large = len(caller.body) > LARGE_BODY
        request = await asyncio.to_thread(caller.read) if large else caller.read()
        kept = caller.conversation
        if kept is not None:
            request = await kept.load(request)
            large = large or is_long(request.messages)
        asker = context.key_name or ""
        if large:
            plan, model = await asyncio.to_thread(self._plan, request, asker, large=True)
        else:
            plan, model = self._plan(request, asker)
        if trace is not None:
            trace.plan, trace.route = plan, model.name
            trace.repair_history, trace.custom_tools = self.repair_history, model.custom_tools
            if model.tool_limiter is not None:
                trace.tool_limits = model.tool_limiter.limits
        context.model, context.route, context.stream = request.model, model.name, request.stream
        sink = caller.sink(plan)
        counter = _counter(model, request)
        recorded = sink if kept is None and counter is None else Recorder(sink)
        turn = Pump(
            plan,
            model,
            recorded,
            self.limits,
            self.new_call_id,
            flow=caller.flow,
            watchdog=self.watchdog,
            checker=self.checker,
            trace=trace,
            observer=self.observer,
        )
        try:
            report = await turn.run()
            if isinstance(recorded, Recorder):
                if counter is not None and report.usage is None:
                    said = recorded.whole()
                    report.usage = await count_usage(counter, plan.outgoing, said, report.backend)
                if kept is not None:
                    await kept.keep(request, recorded.whole(), report)
            context.usage = sink.done(report)
        except GatewayError as error:
            context.error = error.code
            sink.fail(error)
            if trace is not None:
                trace.error = error
        except asyncio.CancelledError:
            context.error = "client_gone"
            if not caller.gone:
                context.error = ShuttingDown.code
                sink.fail(ShuttingDown("The server is shutting down. Try again."))
            raise
        finally:
            report = context.report = turn.report
            context.backend = report.backend
            if trace is not None:
                trace.account(report)

    def _plan(
        self, request: Request, asker: str, *, large: bool = False
    ) -> tuple[Plan, ServedModel]:
        model = self.routes.find(request.model)
        plan = make_plan(
            request,
            repair_history=self.repair_history,
            custom_tools=model.custom_tools,
            repair_policy=self.repair_policy,
            tool_limiter=model.tool_limiter,
            large=large,
            asker=asker,
        )
        return plan, model


def _counter(model: ServedModel, request: Request) -> TokenCounter | None:
    """What counts the turn's tokens if its backend does not: where the client sees the figures,
    and there is one answer."""
    seen = not request.stream or request.include_usage
    return model.tokens if seen and (request.sampling.n or 1) == 1 else None


class Recorder:
    """Another sink, with a note of what the first choice says."""

    def __init__(self, sink: TurnSink) -> None:
        self._sink = sink
        self._said = Collector()
        self.flush = sink.flush
        self.keepalive = sink.keepalive

    @property
    def committed(self) -> bool:
        """See `Sink.committed`."""
        return self._sink.committed

    def begin(self, begun: Begun) -> None:
        """See `Sink.begin`."""
        if not self._sink.committed:
            self._said = Collector()
        self._sink.begin(begun)

    def send(self, choice: int, events: list[Event]) -> None:
        """See `Sink.send`."""
        if choice == 0:
            self._said.feed(events)
        self._sink.send(choice, events)

    def whole(self) -> Whole:
        """What was said."""
        return self._said.whole()
