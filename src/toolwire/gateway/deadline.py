"""When one turn is late, and when its client has heard nothing for long. Pure: it is told the
time."""

from typing import Literal, TypeAlias

from toolwire.backends.base import DEFAULT_TIMEOUTS, BackendTimeouts
from toolwire.gateway.retry import TurnLimits

Due: TypeAlias = Literal["nothing", "keepalive", "end"]


class Deadline:
    """The clock of one turn. Times are seconds of whatever clock the caller has.

    What a backend says (`news`) and a client is told (`told`) is only noted, because that happens
    with every chunk; what it means for the limits is worked out when somebody looks.
    """

    __slots__ = (
        "_begun", "_heard", "_limits", "_spoke", "_started", "_timeouts", "_waits", "_why", "news",
        "told",
    )  # fmt: skip

    def __init__(self, limits: TurnLimits, now: float) -> None:
        self.news = False
        """Whether the backend has said something since the last look."""
        self.told = False
        """Whether the client was told something since: not every word of a backend goes on."""
        self._limits = limits
        self._timeouts = DEFAULT_TIMEOUTS
        self._waits = False
        self._begun = False
        self._heard = self._spoke = self._started = now
        self._why = ""

    @property
    def expired(self) -> bool:
        """Whether the turn was found to be late."""
        return bool(self._why)

    def since_start(self, now: float) -> float:
        """Seconds since the turn began."""
        return now - self._started

    def left(self, now: float) -> float:
        """Seconds until the turn must be over."""
        return self._started + self._limits.total - now

    def begin(self, timeouts: BackendTimeouts, now: float) -> None:
        """A backend is asked: what an earlier one said counts no more."""
        self._timeouts = timeouts
        self._heard = now
        self._waits = True
        self._begun = self.news = False

    def rest(self) -> None:
        """No backend is waited for, so that only the limit of the whole turn counts."""
        self._waits = self.news = False

    def look(self, now: float) -> Due:
        """What is due."""
        if self.news:
            self.news = False
            self._heard = now
            self._begun = True
        if self.told:
            self.told = False
            self._spoke = now
        self._why = self._lateness(now)
        if self._why:
            return "end"
        if now >= self._spoke + self._limits.keepalive:
            self._spoke = now
            return "keepalive"
        return "nothing"

    def _lateness(self, now: float) -> str:
        """In what the turn is late, if it is."""
        limits, timeouts, silence = self._limits, self._timeouts, now - self._heard
        if now - self._started >= limits.total:
            return f"did not finish within {limits.total:g} s"
        if self._waits and self._begun and silence >= timeouts.idle:
            return f"was silent for {timeouts.idle:g} s within its answer"
        if self._waits and not self._begun and silence >= timeouts.first_token:
            return f"gave no answer within {timeouts.first_token:g} s"
        return ""

    def too_slow(self, backend: str) -> str:
        """What to say of a turn that has expired."""
        return f"The backend '{backend}' {self._why}."
