"""The pump: opens a backend, feeds its fragments through the stages, and sends the events.

This is the only part of a turn that uses the event loop, waits and can be cancelled. `retry.py`
decides what follows a failure, and `deadline.py` what has timed out. Blocks are processed in the
reader's callback, without a queue or a task switch per chunk.
"""

import asyncio
from collections.abc import Callable

from toolwire.backends.base import Backend, FragmentListener
from toolwire.errors import UpstreamError, UpstreamTimeout, UpstreamUnavailable
from toolwire.gateway.answer.attempt import Attempt
from toolwire.gateway.answer.breaks import explain_break
from toolwire.gateway.deadline import Deadline
from toolwire.gateway.observer import UNOBSERVED, TurnObserver
from toolwire.gateway.plan import Plan
from toolwire.gateway.repair.costly import Checker, unchecked
from toolwire.gateway.report import Report
from toolwire.gateway.retry import Tried, TurnLimits, TurnRetryPolicy, reason_of
from toolwire.gateway.routes import ServedModel
from toolwire.gateway.sink import Begun, Flow, Sink
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.trace.records import AttemptTrace, TurnTrace
from toolwire.gateway.watchdog import Watchdog
from toolwire.protocol.effort import nearest_effort
from toolwire.protocol.fragments import ENDED_BY, STOPPED_BY, Fragment
from toolwire.protocol.requests import Request
from toolwire.protocol.usage import add_usage


class _Stopped(Exception):
    """The rest of a backend's answer is not needed."""


class Pump:
    """Runs one turn. Call `run` once."""

    __slots__ = (
        "_checker", "_deadline", "_flow", "_loop", "_model", "_new_call_id", "_observer",
        "_retries", "_seen", "_sink", "_task", "_trace", "_watchdog", "report",
    )  # fmt: skip

    def __init__(
        self,
        plan: Plan,
        model: ServedModel,
        sink: Sink,
        limits: TurnLimits,
        new_call_id: Callable[[], str],
        *,
        flow: Flow,
        watchdog: Watchdog,
        checker: Checker | None = None,
        trace: TurnTrace | None = None,
        observer: TurnObserver = UNOBSERVED,
    ) -> None:
        self.report = Report(repairs=set(plan.repairs))
        self._observer = observer
        self._model = model
        self._sink = sink
        self._flow = flow
        self._new_call_id = new_call_id
        self._checker = checker
        self._trace = trace
        self._watchdog = watchdog
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task(self._loop)
        self._retries = TurnRetryPolicy(plan, model, limits)
        self._deadline = Deadline(limits, self._loop.time())
        self._seen = ""

    async def run(self) -> Report:
        """Run the turn. Raises `GatewayError` if it fails."""
        self._watchdog.add(self, self._loop)
        try:
            await self._attempts()
        except asyncio.CancelledError:
            if not self._deadline.expired or self._task is None or self._task.uncancel():
                raise  # also if another caller cancelled the task at the same time
            late = UpstreamTimeout(self._deadline.too_slow(self.report.backend))
            self._observer.failed(self.report.backend, late)
            raise late from None
        finally:
            self._watchdog.remove(self)
            self._task = None  # a cancelled task references this turn's frames: avoid a cycle
        return self.report

    def check(self, now: float) -> None:
        """See `Watched.check`. Cancels a turn that has timed out, or sends a keepalive."""
        due = self._deadline.look(now)
        if due == "keepalive":
            self._sink.keepalive()
        elif due == "end":
            self._watchdog.remove(self)
            if self._task is not None:
                self._task.cancel()

    async def _attempts(self) -> None:
        while True:
            tried = Tried(self._retries.pick())
            error = await self._try(tried)
            if error is None:
                return
            tried.committed = self._sink.committed
            left = self._deadline.left(self._loop.time())
            retry = self._retries.after(tried, error, left=left)
            if retry is None:
                if self._deliver_spare(error):
                    return
                if tried.committed or (tried.begun is not None and type(error) is UpstreamError):
                    explain_break(error, tried.member.backend.name)
                try:
                    raise error
                finally:
                    del error  # it references this frame: avoid a reference cycle
            if tried.committed and tried.attempt is not None:
                self._seen = tried.attempt.seen
            if retry.repair:
                self.report.repairs.add(retry.repair)
            if retry.reason:
                self.report.retries.append(retry.reason)
                self._observer.retried(tried.member.backend.name, retry.reason)
            self._deadline.rest()
            await asyncio.sleep(retry.delay)

    async def _try(self, tried: Tried) -> UpstreamError | None:
        """Try one backend once. Return the error, if there was one."""
        backend, plan = tried.member.backend, self._retries.plan
        self.report.backend = backend.name
        self._observer.attempted(backend.name)
        now, traced = self._loop.time(), None
        self._deadline.begin(backend.timeouts, now)
        tried.member.in_flight += 1
        try:
            if backend.needs_probe and (plan.offers_tools or backend.ignored(plan.request)):
                await backend.probe()
            tried.strategy = self._model.strategies.choose(backend, plan)
            if self._trace is not None:
                traced = self._traced(self._trace, tried, plan, now)
            await self._ask(tried, plan, traced)
        except UpstreamError as error:
            if traced is not None:
                traced.error = error
            self._model.pool.note(tried.member, error)
            self._observer.failed(backend.name, error)
            return error
        finally:
            tried.member.in_flight -= 1
        self._observer.answered(backend.name)
        return None

    def _traced(self, trace: TurnTrace, tried: Tried, plan: Plan, now: float) -> AttemptTrace:
        return trace.attempt(
            tried.member.backend.name,
            tried.strategy,
            plan,
            self._deadline.since_start(now),
            final=self._retries.final,
            resumed=self._sink.committed,
        )

    async def _ask(self, tried: Tried, plan: Plan, traced: AttemptTrace | None) -> None:
        backend, strategy = tried.member.backend, tried.strategy
        attempt = tried.attempt = Attempt(
            plan,
            strategy,
            self._sink.send,
            self._new_call_id,
            final=self._retries.final,
            resumed=self._sink.committed,
            before=self._seen,
            trace=traced,
        )
        if strategy.rewrites and plan.is_long:
            outgoing = await asyncio.to_thread(strategy.outgoing, plan)  # it blocks the event loop
        else:
            outgoing = strategy.outgoing(plan)
        if traced is not None:
            traced.asked = outgoing
        answer = await backend.open(outgoing)
        try:
            self._flow(answer.pause, answer.resume)
            tried.begun = _begun(backend, strategy, plan.request)
            self._sink.begin(tried.begun)
            try:
                done = await answer.relay(self._listener(attempt, traced))
            except _Stopped:
                done = True
            except UpstreamUnavailable as error:
                if not (error.disconnected and attempt.ended):
                    raise
                done = False  # some servers drop the connection where [DONE] should be
            if traced is not None:
                traced.done = done
            for _ in attempt.finishing(done=done):
                await asyncio.sleep(0)  # let other turns run
            if attempt.costly:
                await self._check_elsewhere(attempt)
        finally:
            answer.close()
            if strategy.unproven and attempt.called:
                self._model.strategies.called(backend, plan.request.model)
            self._account(attempt, traced)

    def _listener(self, attempt: Attempt, traced: AttemptTrace | None) -> FragmentListener:
        """Return what feeds the backend's answer to the attempt."""
        deadline, report, sink, now = self._deadline, self.report, self._sink, self._loop.time

        def feed(fragments: list[Fragment]) -> None:
            deadline.news = True
            if report.first_token_after is None:
                report.first_token_after = deadline.since_start(now())
            if traced is not None:
                traced.heard.append((deadline.since_start(now()), fragments))
            if attempt.feed(fragments):
                deadline.told = True
            sink.flush()
            if attempt.stopped:
                raise _Stopped

        return feed

    async def _check_elsewhere(self, attempt: Attempt) -> None:
        """Validate costly calls off the event loop. The backend's answer is complete."""
        self._deadline.rest()
        calls = attempt.costly
        if self._checker is not None:
            attempt.resolve(await self._checker.check(calls))
        else:
            attempt.resolve([unchecked(call, "it takes too long") for call in calls])

    def _account(self, attempt: Attempt, traced: AttemptTrace | None) -> None:
        """Record the results of an attempt. Its usage counts even if the answer was not used."""
        if traced is not None:
            traced.record(attempt.findings, attempt.repairs)
        report, about = self.report, attempt.about
        if attempt.repairs:
            report.repairs |= attempt.repairs
        report.findings = attempt.findings
        report.calls = attempt.calls
        report.stopped_by = about.pop(STOPPED_BY, "")
        report.ended_by = about.pop(ENDED_BY, "")
        report.about = about
        report.usage = add_usage(report.usage, attempt.usage)

    def _deliver_spare(self, error: UpstreamError) -> bool:
        """Deliver an earlier attempt instead of this error. Return whether there was one."""
        spare = self._retries.spare(committed=self._sink.committed)
        if spare is None or spare.attempt is None:
            return False
        self.report.retries.append(reason_of(error))
        self._observer.retried(self.report.backend, reason_of(error))
        if spare.begun is not None:
            self._sink.begin(spare.begun)
        spare.attempt.deliver(again=not spare.committed)
        self.report.findings, self.report.calls = spare.attempt.findings, spare.attempt.calls
        return True


def _begun(backend: Backend, strategy: ToolStrategy, request: Request) -> Begun:
    known, effort = backend.capabilities, request.sampling.reasoning_effort
    own = request.origin is not None and request.origin.wire == known.wire
    adjusted: tuple[str, ...] = ()
    if effort is not None and nearest_effort(effort, known.efforts) != effort:
        adjusted = ("reasoning_effort",)
    return Begun(backend.name, str(strategy), backend.ignored(request), adjusted, own)
