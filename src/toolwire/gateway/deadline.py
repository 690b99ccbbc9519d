"""Decides when a turn has timed out, and when its client needs a keepalive. Pure: the caller
passes the time."""

from typing import Literal, TypeAlias

from toolwire.backends.base import DEFAULT_TIMEOUTS, BackendTimeouts
from toolwire.gateway.retry import TurnLimits

Due: TypeAlias = Literal["nothing", "keepalive", "end"]


class Deadline:
    """The timeouts of one turn. Times are seconds of the caller's clock.

    Activity of the backend (`news`) and output to the client (`told`) only set a flag, because
    they happen with every chunk. `look` works out what they mean for the limits.
    """

    __slots__ = (
        "_begun", "_heard", "_limits", "_spoke", "_started", "_timeouts", "_waits", "_why", "news",
        "told",
    )  # fmt: skip

    def __init__(self, limits: TurnLimits, now: float) -> None:
        self.news = False
        """Whether the backend has sent anything since the last `look`."""
        self.told = False
        """Whether the client was sent anything since then: not all backend output goes out."""
        self._limits = limits
        self._timeouts = DEFAULT_TIMEOUTS
        self._waits = False
        self._begun = False
        self._heard = self._spoke = self._started = now
        self._why = ""

    @property
    def expired(self) -> bool:
        """Whether the turn has timed out."""
        return bool(self._why)

    def since_start(self, now: float) -> float:
        """Return the seconds since the turn started."""
        return now - self._started

    def left(self, now: float) -> float:
        """Return the seconds until the turn must end."""
        return self._started + self._limits.total - now

    def begin(self, timeouts: BackendTimeouts, now: float) -> None:
        """Start the timeouts of a new attempt."""
        self._timeouts = timeouts
        self._heard = now
        self._waits = True
        self._begun = self.news = False

    def rest(self) -> None:
        """Suspend the backend's timeouts. Only the limit of the whole turn applies."""
        self._waits = self.news = False

    def look(self, now: float) -> Due:
        """Return what is due."""
        if self.news:
            self.news = False
            self._heard = now
            self._begun = True
        if self.told:
            self.told = False
            self._spoke = now
        self._why = self._expired_timeout(now)
        if self._why:
            return "end"
        if now >= self._spoke + self._limits.keepalive:
            self._spoke = now
            return "keepalive"
        return "nothing"

    def _expired_timeout(self, now: float) -> str:
        """Return which timeout has expired, or an empty string."""
        limits, timeouts, silence = self._limits, self._timeouts, now - self._heard
        if now - self._started >= limits.total:
            return f"did not finish within {limits.total:g} s"
        if self._waits and self._begun and silence >= timeouts.idle:
            return f"was silent for {timeouts.idle:g} s within its answer"
        if self._waits and not self._begun and silence >= timeouts.first_token:
            return f"gave no answer within {timeouts.first_token:g} s"
        return ""

    def too_slow(self, backend: str) -> str:
        """Return the error message of a turn that has timed out."""
        return f"The backend '{backend}' {self._why}."
