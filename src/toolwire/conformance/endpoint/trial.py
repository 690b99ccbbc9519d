"""Checks, their verdicts, and how they are run."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from toolwire.conformance.endpoint.client import LiveEndpoint, Unreachable

_OF_THE_MODEL = (
    "Toolwire is in front already, so it is the model, or how it is asked: try another `mode` or "
    "`format`, or `examples`; `[trace]` shows what the model wrote."
)


class Verdict(StrEnum):
    """The result of a check. `unsure`: the model did something else, which proves nothing."""

    WORKS = "works"
    FAILS = "fails"
    UNSURE = "unsure"


class Fault(Exception):
    """The server violates the API."""


class Unsure(Exception):
    """The model did not do what the check needs, so there is no verdict."""


@dataclass(frozen=True, slots=True)
class Check:
    """A promise of the API, how to check it, and what to do if it is broken."""

    name: str
    run: Callable[[LiveEndpoint], str | None]
    advice: str
    proves: str = ""
    """The name of a later check that can be skipped if this one passes."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of one check."""

    name: str
    verdict: Verdict
    detail: str
    advice: str
    seconds: float


def require(condition: bool, problem: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Fail the check unless the condition holds."""
    if not condition:
        raise Fault(problem)


def run_checks(endpoint: LiveEndpoint, checks: Iterable[Check]) -> Iterator[TrialResult]:
    """Run checks in order. Raises `Unreachable` if the first one gets no answer."""
    answered = False
    proven: dict[str, str] = {}
    for check in checks:
        start = time.monotonic()
        if check.name in proven:
            yield TrialResult(
                check.name, Verdict.WORKS, f"as '{proven[check.name]}' shows", "", 0.0
            )
            continue
        try:
            detail, verdict = check.run(endpoint) or "", Verdict.WORKS
        except Fault as fault:
            detail, verdict = str(fault), Verdict.FAILS
        except Unsure as doubt:
            detail, verdict = str(doubt), Verdict.UNSURE
        except Unreachable as error:
            if not answered:
                raise
            detail, verdict = f"no answer: {error}", Verdict.FAILS
        answered = True
        if verdict is Verdict.WORKS and check.proves:
            proven[check.proves] = check.name
        advice = _OF_THE_MODEL if endpoint.is_toolwire else check.advice
        advised = advice if verdict is Verdict.FAILS else ""
        yield TrialResult(check.name, verdict, detail, advised, time.monotonic() - start)
