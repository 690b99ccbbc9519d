"""The fuzzer: changes what it has, keeps what reaches new lines or ends in a new way.

Why not a ready-made one: the best for Python has wheels for few platforms, and what must be
installed to run the tests has to install everywhere. Parsers in Python are slow enough that
line coverage loses little to it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.coverage import CHEAP, Lines
from tests.fuzz.judge import SECONDS, Finding, judge
from tests.fuzz.mutate import mutated

CORPUS = Path(__file__).parent / "corpus"
_MOST_KEPT = 4000
_MOST_FINDINGS = 10
_SHRINKS = 200
_WATCHED = 0.25
"""The share of inputs whose lines are looked at, where to look costs more than to run them."""


@dataclass(frozen=True)
class Target:
    """A parser of bytes that others write. `run` raises nothing but a defect, and returns the kind
    of the outcome. `words` mean something to it; `seeds` are inputs beside the stored corpus."""

    name: str
    run: Callable[[bytes], object]
    what: str
    words: Sequence[bytes] = ()
    seeds: Callable[[], Sequence[bytes]] = tuple
    seconds: float = SECONDS

    @property
    def stored(self) -> list[Path]:
        """The files of its corpus."""
        return sorted((CORPUS / self.name).iterdir())


@dataclass
class Run:
    """What a run of one target came to."""

    target: Target
    seed: int
    executions: int = 0
    lines: int = 0
    kept: list[bytes] = field(default_factory=list)
    slowest: float = 0.0
    findings: dict[str, tuple[bytes, Finding]] = field(default_factory=dict)


def fuzz(
    target: Target,
    *,
    seed: int,
    seconds: float,
    most: int = _MOST_FINDINGS,
    before: Callable[[bytes], Any] = lambda _: None,
) -> Run:
    """Try a target for so many seconds of the clock, from its corpus, up to `most` findings.

    `before` sees each input before it is tried.
    """
    random, run, shapes, lines = Random(seed), Run(target, seed), set[object](), Lines()
    until = time.monotonic() + seconds

    def attempt(data: bytes, *, watched: bool) -> None:
        before(data)
        judged = partial(judge, target.run, data, seconds=target.seconds)
        verdict = lines.watch(judged) if watched else judged()
        run.executions += 1
        run.slowest = max(run.slowest, verdict.seconds)
        if verdict.finding is not None:
            run.findings.setdefault(verdict.finding.kind, (data, verdict.finding))
        elif (watched and lines.new) or verdict.shape not in shapes:
            shapes.add(verdict.shape)
            run.kept.append(data)

    seeds = [*(path.read_bytes() for path in target.stored), *target.seeds()]
    random.shuffle(seeds)
    for data in seeds:
        if run.kept and time.monotonic() > until:
            break
        attempt(data, watched=True)
    while time.monotonic() < until and len(run.findings) < most:
        del run.kept[: len(run.kept) - _MOST_KEPT]
        pool = run.kept if run.kept and random.random() < 0.7 else seeds
        watched = CHEAP or random.random() < _WATCHED
        attempt(mutated(random.choice(pool), seeds, target.words, random), watched=watched)
    run.lines = len(lines.seen)
    run.findings = {kind: _shrunk(target, *found) for kind, found in run.findings.items()}
    return run


def _shrunk(target: Target, data: bytes, finding: Finding) -> tuple[bytes, Finding]:
    """A shorter input with the same finding, if one is found soon."""
    if finding.kind in ("hangs", "large"):
        return data, finding
    step, tries = len(data) // 2, 0
    while step and tries < _SHRINKS:
        at = 0
        while at < len(data) and tries < _SHRINKS:
            tries += 1
            shorter = data[:at] + data[at + step :]
            found = judge(target.run, shorter, seconds=target.seconds).finding
            if found is not None and found.kind == finding.kind:
                data, finding = shorter, found
            else:
                at += step
        step //= 2
    return data, finding
