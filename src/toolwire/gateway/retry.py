"""Decides whether, where and when to retry a request. Pure: the caller does the waiting."""

import math

import msgspec

from toolwire.backends.base import Backend
from toolwire.backends.pool import BackendPool, PoolMember
from toolwire.errors import InvalidToolArguments, ToolChoiceUnmet, UpstreamError
from toolwire.gateway.answer.attempt import Attempt
from toolwire.gateway.observer import Lack
from toolwire.gateway.plan import Plan
from toolwire.gateway.routes import ServedModel
from toolwire.gateway.sink import Begun
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.strategies.native import NATIVE
from toolwire.gateway.strategies.prompting import has_calls, has_system
from toolwire.gateway.strategies.refusals import refuses_calls


class TurnLimits(msgspec.Struct, frozen=True):
    """The time limits of a turn, in seconds, and its number of attempts."""

    total: float = 3600.0
    keepalive: float = 15.0
    attempts: int = 3
    backoff: float = 0.25
    max_retry_after: float = 10.0
    asks: int = 1
    """How often to ask the model again after an answer that must not be delivered."""


class Tries:
    """The attempts at one request, over all backends of its pool."""

    __slots__ = ("_affinity", "_limits", "_pool", "_tried", "_waited")

    def __init__(self, pool: BackendPool, limits: TurnLimits, affinity: str = "") -> None:
        self._pool = pool
        self._affinity = affinity
        self._limits = limits
        self._tried: list[PoolMember] = []
        self._waited = 0.0

    def pick(self) -> PoolMember:
        """Return the backend for the next attempt."""
        return self._pool.pick(self._tried, self._affinity)

    def delay(
        self, failed: PoolMember, error: UpstreamError, *, left: float = math.inf
    ) -> float | None:
        """Return the seconds to wait before a retry; None if there must be none.

        `left`: seconds until the turn must end.
        """
        self._tried.append(failed)
        if len(self._tried) >= self._limits.attempts:
            return None
        if (error.retryable or error.elsewhere) and self.pick() not in self._tried:
            return 0.0
        if not error.retryable:
            return None
        if error.retry_after is None:
            return self._limits.backoff * float(2 ** (len(self._tried) - 1))
        # A client should not wait here and then be told to wait just as long.
        self._waited += error.retry_after
        patient = self._waited <= self._limits.max_retry_after and error.retry_after < left
        return error.retry_after if patient else None


class Tried(msgspec.Struct, eq=False):
    """One attempt at a turn: its backend, and how far it got."""

    member: PoolMember
    strategy: ToolStrategy = NATIVE
    attempt: Attempt | None = None
    begun: Begun | None = None
    committed: bool = False
    """Whether the client has seen any of the turn."""

    @property
    def resumable(self) -> bool:
        """Whether another attempt can continue although the client has seen part of the turn."""
        return self.attempt is not None and self.attempt.resumable


class Retry(msgspec.Struct, frozen=True):
    """Another attempt, after a delay in seconds."""

    delay: float = 0.0
    reason: str = ""
    """The reason to report if nothing was learned from the answer."""
    repair: str = ""
    """The reason to report if the client has part of the failed answer, or if the model is told
    what was wrong with it."""


class TurnRetryPolicy:
    """Decides what follows each attempt at one turn.

    After a failure, another backend is tried, or the same one after a delay (`Tries`). An answer
    that must not be delivered is returned to the model with a correction. A backend that lacks a
    feature is asked again with another strategy.
    """

    __slots__ = ("_asks", "_limits", "_model", "_spare", "_tries", "plan")

    def __init__(self, plan: Plan, model: ServedModel, limits: TurnLimits) -> None:
        self.plan = plan
        """The plan for the next attempt."""
        self._model = model
        self._limits = limits
        affinity = plan.request.affinity if model.pool.shared else ""
        self._tries = Tries(model.pool, limits, affinity)
        self._asks = 0
        self._spare: Tried | None = None

    @property
    def final(self) -> bool:
        """Whether the model will not be asked again, whatever it answers."""
        return self._asks >= self._limits.asks

    def pick(self) -> PoolMember:
        """Return the backend for the next attempt."""
        return self._tries.pick()

    def after(self, tried: Tried, error: UpstreamError, *, left: float = math.inf) -> Retry | None:
        """Return the retry after a failed attempt, if there is one. `left`: see `Tries.delay`."""
        retry = self._ask_again(tried, error) or self._switch(tried, error)
        if retry is not None or (tried.committed and not tried.resumable):
            return retry
        delay = self._tries.delay(tried.member, error, left=left)
        if delay is None:
            return None
        return Retry(delay, reason_of(error), "call_resumed" if tried.committed else "")

    def spare(self, *, committed: bool) -> Tried | None:
        """Return the earlier attempt to deliver if no better one is possible: agents can recover
        from an invalid call, but stop at an error. None if the client has seen part of a later
        attempt."""
        spare = self._spare
        return spare if spare is not None and spare.committed == committed else None

    def _ask_again(self, tried: Tried, error: UpstreamError) -> Retry | None:
        """Tell the model what was wrong with its calls. The client has not seen them."""
        attempt = tried.attempt
        if not isinstance(error, InvalidToolArguments) or attempt is None or self.final:
            return None
        if error.cut_off:
            return None
        self._asks += 1
        self.plan = self.plan.continued(attempt.correction())
        if attempt.deliverable:
            self._spare = tried
        elif attempt.breaks_strict and self._model.strategies.can_constrain(
            tried.member.backend, self.plan
        ):
            self.plan = self.plan.held_to(finding.tool for finding in attempt.findings)
        return Retry(repair=f"asked_again:{error.code}")

    def _switch(self, tried: Tried, error: UpstreamError) -> Retry | None:
        """Ask the same backend again with another strategy: it may not support tools, or have no
        place for a system prompt."""
        if tried.committed:
            return None
        prose = isinstance(error, ToolChoiceUnmet)
        messages = self.plan.outgoing.messages
        lack = tried.strategy.lack(error, messages)
        if lack == "system":
            if not has_system(tried.strategy.outgoing(self.plan).messages):
                return None
        elif not (self.plan.offers_tools or has_calls(messages)):
            return None
        if lack == "tools" and tried.attempt is not None and tried.attempt.called:
            lack = None  # another choice made a call
        learned = lack is not None and self._learn(
            tried.member.backend, lack, prose=prose, by_history=refuses_calls(error)
        )
        if isinstance(error, ToolChoiceUnmet):
            # The model has answered, so this counts as asking it again, whatever was learned.
            if self.final:
                return None
            self._asks += 1
            self.plan = self.plan.corrected(error.said)
            return Retry(repair="asked_again:tool_choice")
        return Retry(reason=f"{lack}_refused") if learned else None

    def _learn(self, backend: Backend, lack: Lack, *, prose: bool, by_history: bool) -> bool:
        """Record what a backend lacks. It counts for the rest of this turn in any case."""
        plan = self.plan
        learned = self._model.strategies.learn(
            backend,
            plan.request.model,
            lack,
            asker=plan.asker,
            prose=prose,
            by_history=by_history,
        )
        if learned:
            self.plan = plan.without(backend.name, lack)
        return learned


def reason_of(error: UpstreamError) -> str:
    """Return the name of an error in reports."""
    return error.code or "upstream_error"
