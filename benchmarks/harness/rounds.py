"""Rounds: every scenario against every subject, side by side, again and again.

A machine that is shared, or only warm, drifts by more than what is to be seen. So all
subjects take their turn within seconds of each other, in alternating order, figures are
compared only within a round, and the median over the rounds counts. Each round starts the
subjects anew, which also measures that.
"""

from contextlib import ExitStack
from dataclasses import dataclass

from harness.lab import Lab, Sample
from harness.scenarios import Scenario, warm_ups
from harness.subjects import COMMANDS, Command, Subject

DIRECT = "direct"
NGINX = "nginx"
TARGET = "target"


@dataclass(frozen=True)
class Round:
    """All samples of one round, by scenario and subject, and what a start costs."""

    samples: dict[tuple[str, str], Sample]
    start_seconds: dict[str, float]
    idle_mb: dict[str, float]
    loaded_mb: dict[str, float]

    def sample(self, scenario: str, subject: str) -> Sample:
        """Return the sample of one scenario against one subject."""
        return self.samples[scenario, subject]


@dataclass(frozen=True)
class Target:
    """What is compared with nginx."""

    command: Command
    health: str


def start_subjects(
    lab: Lab, target: Target, stack: ExitStack, *, beside_nginx: bool = True
) -> list[Subject]:
    """Start nginx, if it is to be there, and the target; they end with `stack`."""
    nginx = {NGINX: Target(COMMANDS["nginx"], "/healthz")} if beside_nginx else {}
    plans = {**nginx, TARGET: target}
    subjects = []
    for name, plan in plans.items():
        subject = lab.start(name, plan.command, plan.health)
        stack.callback(subject.process.stop)
        subjects.append(subject)
    return subjects


def run_round(
    lab: Lab,
    target: Target,
    scenarios: tuple[Scenario, ...],
    number: int,
    *,
    beside_nginx: bool = True,
) -> Round:
    """Start the subjects, warm them up, and measure every scenario."""
    with ExitStack() as stack:
        subjects = start_subjects(lab, target, stack, beside_nginx=beside_nginx)
        idle = _memory(subjects)
        for scenario in warm_ups(scenarios):
            for subject in subjects:
                lab.measure(subject, scenario)
        samples = _measure_all(lab, subjects, scenarios, number)
        starts = {subject.name: subject.start_seconds for subject in subjects}
        return Round(samples, starts, idle, _memory(subjects))


def _measure_all(
    lab: Lab, subjects: list[Subject], scenarios: tuple[Scenario, ...], number: int
) -> dict[tuple[str, str], Sample]:
    direct = Subject(DIRECT, lab.mock.port, lab.mock.process, 0.0)
    samples = {}
    # What is measured later runs on a warmer machine, so every other round goes backwards.
    for scenario in scenarios if number % 2 else scenarios[::-1]:
        present = subjects if scenario.only_through else [direct, *subjects]
        for subject in present if number % 2 else present[::-1]:
            samples[scenario.name, subject.name] = lab.measure(subject, scenario)
    return samples


def _memory(subjects: list[Subject]) -> dict[str, float]:
    return {subject.name: subject.process.memory_mb() for subject in subjects}
