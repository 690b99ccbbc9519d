"""Asks a server's model for calls in every way that an agent would get them.

First the server itself, then a Toolwire in front of it that decides how to give the model its
tools, then one that writes them into the prompt.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from toolwire.conformance.endpoint import (
    CHECKS,
    Check,
    LiveEndpoint,
    TrialResult,
    Unreachable,
    Verdict,
    run_checks,
)
from toolwire.doctor.facts import ServerFacts
from toolwire.doctor.local_gateway import local_gateway
from toolwire.server.config.settings import Config

Setup: TypeAlias = Literal["server", "auto", "prompted"]
"""Who is asked: the server itself, or Toolwire in front of it, in this mode."""

CALL, STREAMED = "a single call", "a streamed call"
_THROUGH_TOOLWIRE = (CALL, STREAMED, "tool_choice required", "parallel calls", "nested arguments")
TALK = "plain chat"


@dataclass(frozen=True, slots=True)
class Observation:
    """How one check ended, and which way it was made."""

    setup: Setup
    result: TrialResult


@dataclass(slots=True)
class Examination:
    """Everything that was found."""

    facts: ServerFacts
    observations: list[Observation] = field(default_factory=list)

    def of(self, setup: Setup, name: str) -> TrialResult | None:
        """How this check ended; None if it was not made."""
        found = (f.result for f in self.observations if f.setup == setup and f.result.name == name)
        return next(found, None)

    def works(self, setup: Setup, name: str) -> bool:
        """Whether this check works."""
        result = self.of(setup, name)
        return result is not None and result.verdict is Verdict.WORKS

    @property
    def lacks_chat(self) -> bool:
        """Whether the server has no chat endpoint, so that its prompts need a chat template."""
        talk = self.of("server", TALK)
        return talk is not None and talk.detail.startswith(("HTTP 404", "HTTP 405"))

    def failures(self, setup: Setup) -> list[TrialResult]:
        """The checks that fail."""
        return [
            f.result
            for f in self.observations
            if f.setup == setup and f.result.verdict is Verdict.FAILS
        ]

    def calls(self, setup: Setup) -> bool:
        """Whether an agent would get its calls this way, streamed or not."""
        return self.works(setup, CALL) and self.works(setup, STREAMED)


Configure: TypeAlias = Callable[[Setup], Config]
"""The configuration of a Toolwire in front of the server."""


def examine(
    facts: ServerFacts,
    endpoint: LiveEndpoint,
    configure: Configure,
    announce: Callable[[Setup, str], None],
) -> Iterator[Observation]:
    """Run the checks, one after the other. `announce` is told which comes next.

    Raises `Unreachable` if the server gives no answer at all.
    """
    for result in run_checks(endpoint, _announced(CHECKS, "server", announce)):
        yield Observation("server", result)
        if result.name == TALK and _is_locked(result):
            return
    if facts.is_toolwire:
        return
    for setup in ("auto", "prompted"):
        yield from _through_toolwire(setup, endpoint, configure(setup), announce)


def _through_toolwire(
    setup: Setup, endpoint: LiveEndpoint, config: Config, announce: Callable[[Setup, str], None]
) -> Iterator[Observation]:
    checks = [check for check in CHECKS if check.name in _THROUGH_TOOLWIRE]
    with local_gateway(config) as url:
        front = LiveEndpoint(url, endpoint.model, timeout=endpoint.timeout)
        try:
            for result in run_checks(front, _announced(checks, setup, announce)):
                yield Observation(setup, result)
        except Unreachable as error:
            yield Observation(setup, TrialResult(CALL, Verdict.FAILS, str(error), "", 0.0))


def _announced(
    checks: "tuple[Check, ...] | list[Check]", setup: Setup, announce: Callable[[Setup, str], None]
) -> Iterator[Check]:
    for check in checks:
        announce(setup, check.name)
        yield check


def _is_locked(result: TrialResult) -> bool:
    """Whether nothing will work: the key is refused."""
    return result.verdict is Verdict.FAILS and result.detail.startswith(("HTTP 401", "HTTP 403"))
