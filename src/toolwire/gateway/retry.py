"""Whether, where and when a request is sent again. Pure: whoever asks does the waiting."""

import math
from dataclasses import dataclass

from toolwire.backends.pool import BackendPool, Member
from toolwire.errors import ArgumentsUnfit, ToolChoiceUnmet, UpstreamError
from toolwire.gateway.attempt import Attempt
from toolwire.gateway.plan import Plan
from toolwire.gateway.routes import ServedModel
from toolwire.gateway.sink import Begun
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.strategies.native import NATIVE


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """How long a turn may take, in seconds, and how often it is tried."""

    total: float = 3600.0
    keepalive: float = 15.0
    attempts: int = 3
    backoff: float = 0.25
    max_retry_after: float = 10.0
    asks: int = 1
    """How often the model is asked again after an answer that may not be delivered."""


class Tries:
    """The attempts that one request has had, over the backends of its pool."""

    __slots__ = ("_limits", "_pool", "_tried", "_waited")

    def __init__(self, pool: BackendPool, limits: TurnLimits) -> None:
        self._pool = pool
        self._limits = limits
        self._tried: list[Member] = []
        self._waited = 0.0

    def pick(self) -> Member:
        """The backend for the next attempt."""
        return self._pool.pick(self._tried)

    def delay(
        self, failed: Member, error: UpstreamError, *, left: float = math.inf
    ) -> float | None:
        """Seconds until the attempt after a failed one; None if there must not be one.

        `left`: seconds until the turn must be over.
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
        # No client should wait here, and then be told to wait again as long.
        self._waited += error.retry_after
        patient = self._waited <= self._limits.max_retry_after and error.retry_after < left
        return error.retry_after if patient else None


@dataclass(slots=True)
class Tried:
    """One attempt at a turn: who was asked, and how far it came."""

    member: Member
    strategy: ToolStrategy = NATIVE
    attempt: Attempt | None = None
    begun: Begun | None = None
    committed: bool = False
    """Whether the client has seen any of the turn."""

    @property
    def resumable(self) -> bool:
        """Whether another attempt can take over although the client has seen some of the turn."""
        return self.attempt is not None and self.attempt.resumable


@dataclass(frozen=True, slots=True)
class Retry:
    """There is another attempt, after so many seconds."""

    delay: float = 0.0
    reason: str = ""
    """What the report says of it if nothing was learned from the answer."""
    repair: str = ""
    """What the report says of it if the client has part of the failed answer, or the model is told
    what was wrong with it."""


class RetryPolicy:
    """What follows each attempt at one turn.

    A backend that fails is followed by another, or by itself after a while (`Tries`). An answer
    that must not be delivered goes back to the model with what is wrong with it. A backend that
    turns out to lack something is asked again with another strategy.
    """

    __slots__ = ("_asks", "_limits", "_model", "_spare", "_tries", "plan")

    def __init__(self, plan: Plan, model: ServedModel, limits: TurnLimits) -> None:
        self.plan = plan
        """What the next attempt is made by."""
        self._model = model
        self._limits = limits
        self._tries = Tries(model.pool, limits)
        self._asks = 0
        self._spare: Tried | None = None

    @property
    def final(self) -> bool:
        """Whether the model is not asked again whatever it answers next."""
        return self._asks >= self._limits.asks

    def pick(self) -> Member:
        """The backend for the next attempt."""
        return self._tries.pick()

    def after(self, tried: Tried, error: UpstreamError, *, left: float = math.inf) -> Retry | None:
        """What follows a failed attempt; None if nothing may. `left`: see `Tries.delay`."""
        retry = self._ask_again(tried, error) or self._switch(tried, error)
        if retry is not None or (tried.committed and not tried.resumable):
            return retry
        delay = self._tries.delay(tried.member, error, left=left)
        if delay is None:
            return None
        return Retry(delay, reason_of(error), "call_resumed" if tried.committed else "")

    def spare(self, *, committed: bool) -> Tried | None:
        """The attempt to deliver when there can be no better one: agents get on with a call that
        does not fit, and stop at an error. None if the client has seen any of a later one."""
        spare = self._spare
        return spare if spare is not None and spare.committed == committed else None

    def _ask_again(self, tried: Tried, error: UpstreamError) -> Retry | None:
        """Tell the model what was wrong with its calls, which no client has seen."""
        attempt = tried.attempt
        if not isinstance(error, ArgumentsUnfit) or attempt is None or self.final:
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
        """Ask the same backend again, differently: it may have no tools after all."""
        if tried.committed or not self.plan.offers_tools:
            return None
        prose = isinstance(error, ToolChoiceUnmet)
        lack = tried.strategy.lack(error)
        if lack == "tools" and tried.attempt is not None and tried.attempt.called:
            lack = None  # of several choices, another one called
        learned = lack is not None and self._model.strategies.learn(
            tried.member.backend,
            self.plan.request.model,
            lack,
            asker=self.plan.asker,
            prose=prose,
        )
        if isinstance(error, ToolChoiceUnmet):
            # The model has answered, so whatever is learned, this is one more request to it.
            if self.final:
                return None
            self._asks += 1
            self.plan = self.plan.corrected(error.said)
            return Retry(repair="asked_again:tool_choice")
        return Retry(reason=f"{lack}_refused") if learned else None


def reason_of(error: UpstreamError) -> str:
    """What a report calls an error."""
    return error.code or "upstream_error"
