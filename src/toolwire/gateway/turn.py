"""Runs one turn for any surface: plan it, run it, and record its result.

A surface provides a request and a sink, and nothing here depends on which surface it is. A stored
conversation is used twice: before planning, to prepend the history to the new messages, and after
the end, to save the turn.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, Protocol, TypeVar

import msgspec

from toolwire.backends.base import BackendRequest
from toolwire.errors import GatewayError, ShuttingDown
from toolwire.gateway.answer.collect import Collector, Whole
from toolwire.gateway.context import RequestContext
from toolwire.gateway.observer import UNOBSERVED, TurnObserver
from toolwire.gateway.plan import DEFAULT_REPAIR_POLICY, Plan, RepairPolicy, is_long, make_plan
from toolwire.gateway.pump import Pump
from toolwire.gateway.repair.costly import Checker
from toolwire.gateway.report import Report
from toolwire.gateway.retry import TurnLimits
from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.sink import Begun, Flow, Sink
from toolwire.gateway.token_count import TokenCounter, count_prompt, count_usage
from toolwire.gateway.trace.records import TraceSwitch, TurnTrace
from toolwire.gateway.watchdog import Watchdog
from toolwire.protocol.events import Event
from toolwire.protocol.requests import Request
from toolwire.protocol.tools import ToolSet
from toolwire.protocol.usage import TokenUsage

LARGE_BODY = 128 * 1024
"""Bytes of a body that is large enough to parse off the event loop."""
_COUNT_WITHIN = 3.0
"""Seconds that a server may take to count a prompt. Clients ask for many counts at once, and an
estimate is better than a late count."""
_thread = ThreadPoolExecutor(1, thread_name_prefix="toolwire-large")
"""Only one thread does such work. It holds the interpreter's lock, so several would not be faster,
and the event loop would have to wait for all of them."""
P = ParamSpec("P")
T = TypeVar("T")


async def off_loop(size: int, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Do the work for a body of this size: in the thread if it would block the event loop."""
    if size > LARGE_BODY:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_thread, partial(work, *args, **options))
    return work(*args, **options)


class TurnSink(Sink, Protocol):
    """A sink that also ends the answer."""

    def done(self, report: Report) -> TokenUsage:
        """Send the end of a successful turn. Return its usage, estimated if unknown."""
        ...

    def fail(self, error: GatewayError) -> None:
        """Send an error: as a body or, if a stream has started, within the stream."""
        ...


class StoredHistory(Protocol):
    """A history that is stored between turns."""

    async def load(self, request: Request) -> Request:
        """Return the request with the earlier messages before its own."""
        ...

    async def keep(self, request: Request, answer: Whole, report: Report) -> None:
        """Save a successful turn. Raises `GatewayError` if that fails, which the client is
        told."""
        ...


class Caller(Protocol):
    """The origin of a turn: a surface and its client."""

    @property
    def surface(self) -> str:
        """The name of the surface."""
        ...

    @property
    def body(self) -> bytes:
        """The request body."""
        ...

    @property
    def gone(self) -> bool:
        """Whether the client has disconnected."""
        ...

    @property
    def conversation(self) -> StoredHistory | None:
        """The stored history, if it is not in the request. Available after `read`."""
        ...

    def read(self) -> Request:
        """Parse the request. Raises `RequestError`."""
        ...

    def sink(self, plan: Plan) -> TurnSink:
        """Return the sink for the answer."""
        ...

    @property
    def flow(self) -> Flow:
        """Registers callbacks for a client that is too slow, and for when it has caught up."""
        ...


class TurnService(msgspec.Struct, frozen=True):
    """Runs turns. Holds what all requests share, and no state of any request."""

    routes: Routes
    limits: TurnLimits
    repair_history: bool
    new_call_id: Callable[[], str]
    now: Callable[[], float]
    """Returns seconds since 1970."""
    repair_policy: RepairPolicy = DEFAULT_REPAIR_POLICY
    keep: Callable[[TurnTrace], None] | None = None
    """Receives the trace of each finished request; None: tracing is off."""
    tracing: TraceSwitch = msgspec.field(default_factory=TraceSwitch)
    """Whether to trace a request that starts now."""
    checker: Checker | None = None
    """Validates calls that are too costly for the event loop; None: they stay unchecked."""
    watchdog: Watchdog = msgspec.field(default_factory=Watchdog)
    observer: TurnObserver = UNOBSERVED
    """Notified of each attempt at a backend."""

    def answer(self, caller: Caller, context: RequestContext) -> Awaitable[None]:
        """Answer one request. Raises `GatewayError` until there is a sink to report it to."""
        if self.keep is None or not self.tracing.on:
            return self._answer(caller, context)
        return self._traced(caller, context, self.keep)

    async def _traced(
        self, caller: Caller, context: RequestContext, keep: Callable[[TurnTrace], None]
    ) -> None:
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
            keep(trace)

    async def _answer(
        self, caller: Caller, context: RequestContext, trace: TurnTrace | None = None
    ) -> None:
        request, plan, model, kept = await self._prepared(caller, context)
        if trace is not None:
            self._note(trace, plan, model)
        sink = caller.sink(plan)
        counter = None if model.tokens is None else _counter(model.tokens, request)
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
                said = recorded.whole()
                if counter is not None and report.usage is None:
                    report.usage = await count_usage(counter, plan.outgoing, said, report.backend)
                if kept is not None:
                    await kept.keep(request, said, report)
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
                trace.record(report)

    async def _prepared(
        self, caller: Caller, context: RequestContext
    ) -> tuple[Request, Plan, ServedModel, StoredHistory | None]:
        """Read the request, with its stored history, and plan it: in a thread if it is large."""
        size = len(caller.body)
        request = caller.read() if size <= LARGE_BODY else await off_loop(size, caller.read)
        kept = caller.conversation
        if kept is not None:
            request = await kept.load(request)
            size = max(size, LARGE_BODY + 1) if is_long(request.messages) else size
        asker = context.key_name or ""
        if size > LARGE_BODY:
            plan, model = await off_loop(size, self._plan, request, asker, large=True)
        else:
            plan, model = self._plan(request, asker)
        context.model, context.route, context.stream = request.model, model.name, request.stream
        return request, plan, model, kept

    def _note(self, trace: TurnTrace, plan: Plan, model: ServedModel) -> None:
        trace.plan, trace.route = plan, model.name
        trace.repair_history, trace.custom_tools = self.repair_history, model.custom_tools
        if model.tool_limiter is not None:
            trace.tool_limits = model.tool_limiter.limits

    async def count_prompt(
        self, request: Request, context: RequestContext, estimate: Callable[[ToolSet], int]
    ) -> tuple[int, bool]:
        """Count the tokens of a prompt. Return whether the number is only an estimate."""
        model = self.routes.find(request.model)
        context.model, context.route = request.model, model.name
        tools = model.offered(request.tools)
        outgoing = BackendRequest(request, request.messages, tools)
        try:
            async with asyncio.timeout(_COUNT_WITHIN):
                tokens = await count_prompt(model.tokens, outgoing, model.pool.pick().backend)
        except TimeoutError:
            tokens = None
        return (estimate(tools), True) if tokens is None else (tokens, False)

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


def _counter(counter: TokenCounter, request: Request) -> TokenCounter | None:
    """Return the counter for a backend that reports no usage. Only if the client sees the usage,
    and for a single choice."""
    seen = not request.stream or request.include_usage
    return counter if seen and (request.sampling.n or 1) == 1 else None


class Recorder:
    """Wraps a sink, and records the first choice."""

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
        """Return the recorded message."""
        return self._said.whole()
