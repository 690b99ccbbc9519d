"""The pump: open a backend, feed what it says through the stages, send what comes out.

The only asynchronous file of this room, and the only place that retries, waits, gives up or is
cancelled. Blocks are handled inside the reader's callback: no queue and no task switch per chunk.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from toolwire.backends.base import DEFAULT_PATIENCE, Answer, Backend
from toolwire.backends.pool import BackendPool, Member
from toolwire.errors import UpstreamError, UpstreamTimeout
from toolwire.gateway.native import NativeTurn
from toolwire.gateway.plan import Plan
from toolwire.gateway.policy import Policy
from toolwire.protocol.events import Event, Usage
from toolwire.protocol.fragments import Fragment


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a turn may take, in seconds, and how often it is tried."""

    total: float = 3600.0
    keepalive: float = 15.0
    attempts: int = 3
    backoff: float = 0.25
    max_retry_after: float = 10.0


class Sink(Protocol):
    """Where a turn's events go: a surface's encoder."""

    @property
    def committed(self) -> bool:
        """Whether the client has seen any of this turn, so that it cannot be started over."""
        ...

    def begin(self, backend: Backend, answer: Answer) -> None:
        """An answer has begun; forget what an earlier attempt may have sent."""
        ...

    def send(self, choice: int, events: list[Event]) -> None:
        """The next events of one choice."""
        ...

    def flush(self) -> None:
        """All that one read of the backend gave has been sent: pass it on, in one write."""
        ...

    def keepalive(self) -> None:
        """The model has been silent for a while; tell the client that we are still here."""
        ...


@dataclass(slots=True)
class Report:
    """How the turn went, for headers, logs and metrics."""

    backend: str = ""
    usage: Usage | None = None
    calls: int = 0
    repairs: set[str] = field(default_factory=set)
    retries: list[str] = field(default_factory=list)
    first_token_after: float | None = None


class Turn:
    """One turn from its plan to its end. `run` it once."""

    def __init__(
        self,
        plan: Plan,
        pool: BackendPool,
        sink: Sink,
        pace: Pace,
        new_call_id: Callable[[], str],
    ) -> None:
        self.report = Report(repairs=set(plan.repairs))
        self._plan = plan
        self._pool = pool
        self._sink = sink
        self._pace = pace
        self._new_call_id = new_call_id
        self._loop = asyncio.get_running_loop()
        self._choices: dict[int, tuple[NativeTurn, Policy]] = {}
        self._heard = self._spoke = self._started = self._loop.time()
        self._patience = DEFAULT_PATIENCE
        self._limit = self._patience.first_token
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> Report:
        """Make the turn. Raises `GatewayError` if it cannot be made."""
        try:
            async with asyncio.timeout(None) as self._scope:
                await self._attempts()
        except TimeoutError:
            raise UpstreamTimeout(self._too_slow()) from None
        finally:
            if self._timer is not None:
                self._timer.cancel()
        return self.report

    async def _attempts(self) -> None:
        tried: list[Member] = []
        while True:
            member = self._pool.pick(tried)
            tried.append(member)
            self.report.backend = member.backend.name
            error = await self._attempt(member)
            if error is None:
                return
            fresh = self._pool.pick(tried) not in tried
            delay = self._retry_delay(error, len(tried), fresh=fresh)
            if delay is None:
                raise error
            self.report.retries.append(error.code or "upstream_error")
            await asyncio.sleep(delay)

    def _retry_delay(self, error: UpstreamError, tries: int, *, fresh: bool) -> float | None:
        """Seconds until the next attempt; None if there must not be one."""
        pace = self._pace
        if not error.retryable or self._sink.committed or tries >= pace.attempts:
            return None
        if fresh:
            return 0.0
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= pace.max_retry_after else None
        return pace.backoff * float(2 ** (tries - 1))

    async def _attempt(self, member: Member) -> UpstreamError | None:
        """Ask one backend once; what went wrong, if something did."""
        self._choices.clear()
        member.in_flight += 1
        try:
            await self._ask(member.backend)
        except UpstreamError as error:
            if error.retryable:
                self._pool.failed(member)
            return error
        finally:
            member.in_flight -= 1
        return None

    async def _ask(self, backend: Backend) -> None:
        self._patience = backend.patience
        self._limit = self._patience.first_token
        self._heard = self._loop.time()
        self._watch()
        answer = await backend.open(self._plan.outgoing)
        try:
            self._sink.begin(backend, answer)
            done = await answer.relay(self._feed)
            if not self._choices:
                raise UpstreamError("The backend's answer was empty.")
            self._finish(done=done)
        finally:
            answer.close()

    def _feed(self, fragments: list[Fragment]) -> None:
        self._heard = self._spoke = self._loop.time()
        for fragment in fragments:
            if fragment.usage is not None:
                self.report.usage = fragment.usage
                continue
            native, policy = self._choices.get(fragment.choice) or self._open_choice(
                fragment.choice
            )
            if events := policy.feed(native.feed(fragment)):
                self._sink.send(fragment.choice, events)
        self._sink.flush()

    def _open_choice(self, index: int) -> tuple[NativeTurn, Policy]:
        self._limit = self._patience.idle
        if self.report.first_token_after is None:
            self.report.first_token_after = self._heard - self._started
        tools = self._plan.outgoing.tools.tools
        pair = self._choices[index] = (NativeTurn(tools, self._new_call_id), self._plan.policy())
        return pair

    def _finish(self, *, done: bool) -> None:
        for index, (native, policy) in sorted(self._choices.items()):
            events = policy.feed(native.finish(done=done))
            self.report.repairs |= native.repairs | policy.repairs
            self.report.calls += policy.calls
            self._sink.send(index, events)

    # Time. One timer, set to the next moment at which anything could be due.

    def _watch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = min(
            self._started + self._pace.total,
            self._heard + self._limit,
            self._spoke + self._pace.keepalive,
        )
        self._timer = self._loop.call_at(due, self._tick)

    def _tick(self) -> None:
        now = self._loop.time()
        if now >= self._started + self._pace.total or now >= self._heard + self._limit:
            self._scope.reschedule(now)
            return
        if now >= self._spoke + self._pace.keepalive:
            self._spoke = now
            self._sink.keepalive()
        self._watch()

    def _too_slow(self) -> str:
        name, pace, patience = self.report.backend, self._pace, self._patience
        if self._loop.time() >= self._started + pace.total:
            return f"The backend '{name}' did not finish within {pace.total:g} s."
        if not self._choices:
            return f"The backend '{name}' gave no answer within {patience.first_token:g} s."
        return f"The backend '{name}' was silent for {patience.idle:g} s within its answer."
