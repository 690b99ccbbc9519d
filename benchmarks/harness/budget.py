"""The rows of the result: how each figure is made, and what it must and should be.

A bar is met by being ahead of every known peer; an aim is what Python can reach at best.
Rows without a bar are there to be read, not judged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from harness.rounds import DIRECT, NGINX, TARGET, Round
from harness.scenarios import CHUNKS, STREAMS

Verdict = Literal["aim met", "bar met", "MISSED", ""]


@dataclass(frozen=True)
class Limit:
    """A bar and an aim, for the ratio to nginx or for the target's own figure."""

    of: Literal["ratio", "target"]
    bar: float
    aim: float
    at_least: bool = False

    def judge(self, value: float) -> Verdict:
        """Say which of the two the value reaches."""
        sign = -1 if self.at_least else 1
        if sign * value <= sign * self.aim:
            return "aim met"
        return "bar met" if sign * value <= sign * self.bar else "MISSED"


@dataclass(frozen=True)
class Row:
    """One line of the result: `figure` makes one subject's number from one round."""

    name: str
    unit: str
    figure: Callable[[Round, str], float]
    limit: Limit | None = None
    digits: int = 0


@dataclass(frozen=True)
class Result:
    """A row with its figures, one per round."""

    row: Row
    nginx: list[float]
    target: list[float]

    @property
    def ratios(self) -> list[float]:
        """The target's figure over nginx's, round by round."""
        return [
            target / nginx if nginx else float("inf")
            for nginx, target in zip(self.nginx, self.target, strict=True)
        ]

    @property
    def verdict(self) -> Verdict:
        """What the median is worth."""
        limit = self.row.limit
        if limit is None:
            return ""
        return limit.judge(median(self.ratios if limit.of == "ratio" else self.target))


def _added_p50(taken: Round, subject: str) -> float:
    direct = taken.sample("latency", DIRECT).p50_us
    return taken.sample("latency", subject).p50_us - direct


def _requests_per_second(taken: Round, subject: str) -> float:
    return taken.sample("saturate", subject).requests_per_second


def _cpu_per_request(taken: Round, subject: str) -> float:
    return taken.sample("saturate", subject).cpu_us_per_request


def _cpu_per_chunk(taken: Round, subject: str) -> float:
    return taken.sample("paced", subject).cpu.run_ns / 1e3 / (STREAMS * CHUNKS)


def _cpu_per_written_chunk(taken: Round, subject: str) -> float:
    return taken.sample("written", subject).cpu.run_ns / 1e3 / (STREAMS * CHUNKS)


def _first_chunk(taken: Round, subject: str) -> float:
    return taken.sample("first", subject).first_event_us


def _tools_over_none(taken: Round, subject: str) -> float:
    plain = taken.sample("plain", subject).cpu_us_per_request
    return taken.sample("tools", subject).cpu_us_per_request / plain


ROWS = (
    Row("added p50, 1 client, 20 tools", "us", _added_p50, Limit("ratio", 5, 3.5)),
    Row(
        "requests/s on one core",
        "1/s",
        _requests_per_second,
        Limit("ratio", 0.10, 0.17, at_least=True),
    ),
    Row("CPU per request", "us", _cpu_per_request),
    Row("CPU per paced chunk, native stream", "us", _cpu_per_chunk, Limit("ratio", 3, 2)),
    Row(
        "CPU per paced chunk, read from text",
        "us",
        _cpu_per_written_chunk,
        Limit("ratio", 3.5, 2.5),
    ),
    Row("time to first chunk, 20 streams", "us", _first_chunk, Limit("ratio", 2, 1.5)),
    Row(
        "CPU of 20 tools over none, same size",
        "x",
        _tools_over_none,
        Limit("target", 1.3, 1.1),
        digits=2,
    ),
    Row("memory, idle", "MB", lambda taken, name: taken.idle_mb[name], Limit("target", 60, 40)),
    Row("memory, after the load", "MB", lambda taken, name: taken.loaded_mb[name]),
    Row(
        "start",
        "s",
        lambda taken, name: taken.start_seconds[name],
        Limit("target", 1.0, 0.4),
        digits=2,
    ),
)


def results(rounds: list[Round], rows: Sequence[Row] = ROWS) -> list[Result]:
    """Make every row's figures from the rounds."""
    beside = [taken for taken in rounds if NGINX in taken.start_seconds]
    return [
        Result(
            row,
            nginx=[row.figure(taken, NGINX) for taken in beside],
            target=[row.figure(taken, TARGET) for taken in rounds],
        )
        for row in rows
    ]
