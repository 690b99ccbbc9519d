"""Logs and counts what happens at backends, and tracks which of them are live.

A failed attempt is logged as a warning, once a minute per kind of failure. A backend's own message
is logged only if it concerns the server (its key, its load, its failure). If the backend refuses a
request, the message may quote the client.
"""

import logging
from collections.abc import Callable, Iterable

import msgspec

from toolwire.errors import (
    InvalidToolArguments,
    KeyRefused,
    ToolChoiceUnmet,
    UncheckedToolArguments,
    UpstreamError,
    UpstreamRefused,
    UpstreamUnavailable,
)
from toolwire.gateway.observer import Lesson
from toolwire.gateway.retry import reason_of
from toolwire.server.telemetry.metrics import Metrics
from toolwire.server.telemetry.throttle import Throttle

_log = logging.getLogger("toolwire.backends")
_LONGEST = 300
_OF_THE_MODEL = (ToolChoiceUnmet, InvalidToolArguments, UncheckedToolArguments)
_LESSONS: dict[Lesson, str] = {
    "tools": "does not support tools for the model %r: they are written into the prompt for the "
    'next 10 minutes (mode = "prompted" makes this permanent)',
    "constraint": "does not constrain answers of the model %r to a JSON Schema: it is asked "
    "without one for the next 10 minutes",
    "union": "does not take a schema of calls or text for the model %r: it is asked without one "
    "for the next 10 minutes",
    "system": "has no system role for the model %r: system prompts go into the first user message "
    "for the next 10 minutes",
    "format": "serves the model %r, which writes its calls as %s: set format = %r for its route",
}


class _State(msgspec.Struct):
    """The state of one backend. `live` is None until it was tried."""

    live: bool | None = None
    failures: int = 0
    down_since: float = 0.0


class BackendWatch:
    """The observer of all turns."""

    def __init__(
        self, backends: Iterable[str], metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self._states = {name: _State() for name in backends}
        self._metrics = metrics
        self._clock = clock
        self._throttle = Throttle(clock)

    @property
    def live(self) -> int:
        """The number of backends that answered when last tried."""
        return sum(state.live is True for state in self._states.values())

    @property
    def total(self) -> int:
        """The number of backends."""
        return len(self._states)

    def is_live(self, backend: str) -> bool | None:
        """Whether a backend answered when last tried; None if it was never tried."""
        return self._states[backend].live

    def attempted(self, backend: str) -> None:
        """See `TurnObserver.attempted`."""
        self._metrics.attempted(backend)

    def answered(self, backend: str) -> None:
        """See `TurnObserver.answered`."""
        state = self._states[backend]
        if state.live:
            return
        if state.live is False:
            seconds, failed = self._clock() - state.down_since, state.failures
            _log.info(
                "backend %s answers again, after %.0f s and %d failures", backend, seconds, failed
            )
        state.live, state.failures = True, 0

    def failed(self, backend: str, error: UpstreamError) -> None:
        """See `TurnObserver.failed`. One failed request does not mean that others would fail."""
        self._metrics.backend_error(backend, reason_of(error))
        self._warn(backend, error)
        if isinstance(error, KeyRefused) or _is_away(error):
            self._down(backend)
        elif isinstance(error, (UpstreamRefused, *_OF_THE_MODEL)):
            self.answered(backend)

    def retried(self, backend: str, reason: str) -> None:
        """See `TurnObserver.retried`."""
        self._metrics.retried(backend, reason)

    def learned(self, backend: str, model: str, lesson: Lesson, found: str = "") -> None:
        """See `TurnObserver.learned`."""
        if self._throttle.admit((backend, model, lesson, found)) is not None:
            known = (model[:100], found, found) if found else (model[:100],)
            _log.info(f"backend %s {_LESSONS[lesson]}", backend, *known)

    def probed(self, backend: str, error: UpstreamError | None) -> None:
        """Record a request for the model list. Not every server has one."""
        if error is None or (isinstance(error, UpstreamRefused) and not error.lasting):
            self.answered(backend)
        else:
            self._warn(backend, error)
            self._down(backend)

    def _down(self, backend: str) -> None:
        state = self._states[backend]
        if state.live is not False:
            state.live, state.down_since = False, self._clock()
        state.failures += 1

    def _warn(self, backend: str, error: UpstreamError) -> None:
        held = self._throttle.admit((backend, reason_of(error), error.status))
        if held is None:
            return
        more = f" (and {held} times more since the last such line)" if held else ""
        _log.warning("backend %s %s%s", backend, _what(error), more)


def _is_away(error: UpstreamError) -> bool:
    return isinstance(error, UpstreamUnavailable) and error.status == UpstreamUnavailable.status


def _what(error: UpstreamError) -> str:
    named = f"({reason_of(error)}, {error.status})"
    if isinstance(error, _OF_THE_MODEL):
        return f"gave an answer that cannot be used {named}"
    if isinstance(error, UpstreamRefused) and not error.lasting:
        return f"refused a request {named}"
    return f"failed {named}: {error.message[:_LONGEST]}"
