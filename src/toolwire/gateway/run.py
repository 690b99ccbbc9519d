"""The pump: open a backend, feed what it says through the stages, send what comes out.

The only asynchronous file of this room, and the only place that retries, waits, gives up or is
cancelled. Blocks are handled inside the reader's callback: no queue and no task switch per chunk.
"""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass

from toolwire.backends.base import DEFAULT_TIMEOUTS, Backend
from toolwire.backends.pool import Member
from toolwire.errors import ArgumentsUnfit, ToolChoiceUnmet, UpstreamError, UpstreamTimeout
from toolwire.gateway.attempt import Attempt
from toolwire.gateway.plan import Plan
from toolwire.gateway.repair.costly import Checker, unchecked
from toolwire.gateway.report import Report
from toolwire.gateway.retry import Tries, TurnLimits
from toolwire.gateway.routes import ServedModel
from toolwire.gateway.sink import Begun, Flow, Sink
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.strategies.native import NATIVE
from toolwire.gateway.trace.records import AttemptTrace, TurnTrace
from toolwire.gateway.watchdog import Watchdog
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.usage import add_usage


@dataclass(frozen=True, slots=True)
class _Spare:
    """An attempt that was given up for a better one, in case there is none."""

    attempt: Attempt
    begun: Begun | None
    committed: bool


class Turn:
    """One turn from its plan to its end. `run` it once."""

    def __init__(
        self,
        plan: Plan,
        model: ServedModel,
        sink: Sink,
        pace: TurnLimits,
        new_call_id: Callable[[], str],
        *,
        flow: Flow,
        watchdog: Watchdog,
        checker: Checker | None = None,
        trace: TurnTrace | None = None,
    ) -> None:
        self.report = Report(repairs=set(plan.repairs))
        self._plan = plan
        self._model = model
        self._sink = sink
        self._pace = pace
        self._new_call_id = new_call_id
        self._checker = checker
        self._trace = trace
        self._traced: AttemptTrace | None = None
        self._asks = 0
        self._strategy: ToolStrategy = NATIVE
        self._spare: _Spare | None = None
        self._flow = flow
        self._begun: Begun | None = None
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.current_task(self._loop)
        self._attempt: Attempt | None = None
        self._heard = self._spoke = self._started = self._loop.time()
        self._news = False
        self._patience = DEFAULT_TIMEOUTS
        self._limit = self._patience.first_token
        self._watchdog = watchdog
        self._late = False

    async def run(self) -> Report:
        """Make the turn. Raises `GatewayError` if it cannot be made."""
        self._watchdog.add(self, self._loop)
        try:
            await self._attempts()
        except asyncio.CancelledError:
            if not self._late or self._task is None or self._task.uncancel():
                raise  # also if somebody else wants it to end, at the same time
            raise UpstreamTimeout(self._too_slow()) from None
        finally:
            self._watchdog.remove(self)
            self._task = None  # a cancelled task knows the frames of this turn, and so the turn
        return self.report

    async def _attempts(self) -> None:
        tries = Tries(self._model.pool, self._pace)
        while True:
            member = tries.pick()
            error = await self._try(member)
            if error is None:
                return
            if self._asks_again(error, member.backend) or self._goes_another_way(
                error, member.backend
            ):
                continue
            delay = None if self._sink.committed else tries.delay(member, error)
            if delay is None:
                if self._deliver_spare(error):
                    return
                try:
                    raise error
                finally:
                    del error  # it knows this frame; if the frame knew it, neither would go away
            self.report.retries.append(error.code or "upstream_error")
            await self._rest(delay)

    async def _rest(self, delay: float) -> None:
        """Wait for the next attempt: nobody is asked meanwhile, so that only the total counts."""
        self._news = False
        self._limit = math.inf
        await asyncio.sleep(delay)

    def _asks_again(self, error: UpstreamError, backend: Backend) -> bool:
        """Whether to tell the model what was wrong with its calls, which no client has seen."""
        if not isinstance(error, ArgumentsUnfit) or self._attempt is None:
            return False
        if self._asks >= self._pace.asks:
            return False
        self._asks += 1
        self._plan = self._plan.continued(self._attempt.objection())
        if self._attempt.deliverable:
            self._spare = _Spare(self._attempt, self._begun, self._sink.committed)
        elif self._model.strategies.can_constrain(backend, self._plan.request.model):
            self._plan = self._plan.held_to(f.tool for f in self._attempt.findings)
        self.report.repairs.add(f"asked_again:{error.code}")
        return True

    def _deliver_spare(self, error: UpstreamError) -> bool:
        """The model could not be asked again: agents get on with a call that does not fit, and
        stop at an error."""
        spare = self._spare
        if spare is None or self._sink.committed != spare.committed:
            return False
        self.report.retries.append(error.code or "upstream_error")
        if spare.begun is not None:
            self._sink.begin(spare.begun)
        spare.attempt.deliver(again=not spare.committed)
        self.report.findings, self.report.calls = spare.attempt.findings, spare.attempt.calls
        return True

    def _goes_another_way(self, error: UpstreamError, backend: Backend) -> bool:
        """Whether to ask the same backend again, differently: it may have no tools after all."""
        if self._sink.committed or not self._plan.offers_tools:
            return False
        lack = self._strategy.lack(error)
        model = self._plan.request.model
        learned = lack is not None and self._model.strategies.learn(backend, model, lack)
        if isinstance(error, ToolChoiceUnmet):
            # The model has answered, so whatever is learned, this is one more request to it.
            if self._asks >= self._pace.asks:
                return False
            self._asks += 1
            self._plan = self._plan.corrected(error.said)
            self.report.repairs.add("asked_again:tool_choice")
            return True
        if learned:
            self.report.retries.append(f"{lack}_refused")
        return learned

    async def _try(self, member: Member) -> UpstreamError | None:
        """Ask one backend once; what went wrong, if something did."""
        self.report.backend = member.backend.name
        try:
            with self._model.pool.using(member):
                await self._ask(member.backend)
        except UpstreamError as error:
            if self._traced is not None:
                self._traced.error = error
            return error
        return None

    async def _ask(self, backend: Backend) -> None:
        self._patience = backend.timeouts
        self._limit = self._patience.first_token
        self._heard = self._loop.time()
        self._news = False  # what an earlier attempt said is none of this one's
        request = self._plan.request
        if self._plan.offers_tools and backend.needs_probe:
            await backend.probe()
        strategy = self._strategy = self._model.strategies.choose(backend, self._plan)
        final, resumed = self._asks >= self._pace.asks, self._sink.committed
        if self._trace is not None:
            self._traced = self._trace.attempt(
                backend.name,
                strategy,
                self._plan,
                self._heard - self._started,
                final=final,
                resumed=resumed,
            )
        attempt = self._attempt = Attempt(
            self._plan,
            strategy,
            self._sink.send,
            self._new_call_id,
            final=final,
            resumed=resumed,
            trace=self._traced,
        )
        if strategy.rewrites and self._plan.is_long:
            # A long conversation is rewritten beside the loop.
            outgoing = await asyncio.to_thread(strategy.outgoing, self._plan)
        else:
            outgoing = strategy.outgoing(self._plan)
        answer = await backend.open(outgoing)
        try:
            self._flow(answer.pause, answer.resume)
            self._begun = Begun(backend.name, str(strategy), backend.ignored(request))
            self._sink.begin(self._begun)
            done = await answer.relay(self._feed)
            if self._traced is not None:
                self._traced.done = done
            attempt.finish(done=done)
            if attempt.costly:
                await self._check_elsewhere(attempt)
        finally:
            answer.close()
            self._account(attempt)

    async def _check_elsewhere(self, attempt: Attempt) -> None:
        """Have calls checked that would make others wait. The backend has said all it has to."""
        self._news = False
        self._limit = math.inf
        calls = attempt.costly
        if self._checker is not None:
            attempt.resolve(await self._checker.fit(calls))
        else:
            attempt.resolve([unchecked(call, "it takes too long") for call in calls])

    def _account(self, attempt: Attempt) -> None:
        """What was consumed counts, also where the answer could not be used."""
        if self._traced is not None:
            self._traced.account(attempt.findings, attempt.repairs)
        self.report.repairs |= attempt.repairs
        self.report.findings = attempt.findings
        self.report.calls = attempt.calls
        self.report.about = attempt.about
        self.report.usage = add_usage(self.report.usage, attempt.usage)

    def _feed(self, fragments: list[Fragment]) -> None:
        self._news = True
        if self.report.first_token_after is None:
            self.report.first_token_after = self._loop.time() - self._started
        if self._traced is not None:
            self._traced.heard.append((self._loop.time() - self._started, fragments))
        if self._attempt is not None:
            self._attempt.feed(fragments)
        self._sink.flush()

    def check(self, now: float) -> None:
        """Is the turn late, or has the client heard nothing for long? See `Watchdog`."""
        if self._news:
            self._news = False
            self._heard = self._spoke = now
            self._limit = self._patience.idle
        if now >= self._started + self._pace.total or now >= self._heard + self._limit:
            self._watchdog.remove(self)
            self._late = True
            if self._task is not None:
                self._task.cancel()
        elif now >= self._spoke + self._pace.keepalive:
            self._spoke = now
            self._sink.keepalive()

    def _too_slow(self) -> str:
        name, pace, timeouts = self.report.backend, self._pace, self._patience
        if self._loop.time() >= self._started + pace.total:
            return f"The backend '{name}' did not finish within {pace.total:g} s."
        if self._attempt is None or not self._attempt.begun:
            return f"The backend '{name}' gave no answer within {timeouts.first_token:g} s."
        return f"The backend '{name}' was silent for {timeouts.idle:g} s within its answer."
