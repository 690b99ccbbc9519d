"""Measures this tree beside an earlier commit, in turns, so that a change can be told from noise.

Both run on the installed packages of this Python. Every round starts both anew, in alternating
order; what counts are ratios of figures from the same round.

    python benchmarks/commits.py REV [--rounds 9] [--seconds 1.0]
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table

from gateway import choose_cores
from harness.budget import ROWS
from harness.lab import Lab, Sample, open_lab
from harness.rounds import DIRECT, TARGET, Round
from harness.scenarios import LATENCY, timed, warm_ups
from harness.subjects import COMMANDS, Command, Site, Subject

ROOT = Path(__file__).parents[1]
NAMES = ("earlier", "now")


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Yield a folder with the files of that commit."""
    with tempfile.TemporaryDirectory(prefix="toolwire-commit-") as name:
        archive = subprocess.run(
            ["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=False
        )
        if archive.returncode:
            raise SystemExit(archive.stderr.decode().strip())
        subprocess.run(["tar", "-x", "-C", name], input=archive.stdout, check=True)
        yield Path(name)


def served_from(tree: Path) -> Command:
    """Return how to start the gateway of that tree."""

    def command(site: Site) -> list[str]:
        return ["env", f"PYTHONPATH={tree / 'src'}", *COMMANDS["toolwire"](site)]

    return command


def take_round(lab: Lab, trees: tuple[Path, ...], seconds: float, number: int) -> list[Round]:
    """Measure every scenario with every tree; the order alternates."""
    scenarios = timed(seconds)
    samples: list[dict[tuple[str, str], Sample]] = [{} for _ in trees]
    order = list(range(len(trees)))[:: 1 if number % 2 else -1]
    with ExitStack() as stack:
        subjects = {}
        for index in order:
            subject = lab.start(NAMES[index], served_from(trees[index]), "/healthz")
            stack.callback(subject.process.stop)
            subjects[index] = subject
        idle = [subjects[index].process.memory_mb() for index in range(len(trees))]
        for scenario in warm_ups(scenarios):
            for index in order:
                lab.measure(subjects[index], scenario)
        for scenario in scenarios:
            for index in order:
                samples[index][scenario.name, TARGET] = lab.measure(subjects[index], scenario)
        direct = lab.measure(
            Subject(DIRECT, lab.mock.port, lab.mock.process, 0.0), timed(seconds)[0]
        )
        return [
            Round(
                {**samples[index], (LATENCY.name, DIRECT): direct},
                {TARGET: subjects[index].start_seconds},
                {TARGET: idle[index]},
                {TARGET: subjects[index].process.memory_mb()},
            )
            for index in range(len(trees))
        ]


def main() -> None:
    """Measure both trees and print a row for each figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", help="what to compare with")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0, help="the length of a measurement")
    parser.add_argument("--cores", metavar="A,B", help="gateway's core, mock and client's core")
    arguments = parser.parse_args()
    with (
        checked_out(arguments.commit) as earlier,
        tempfile.TemporaryDirectory(prefix="toolwire-bench-") as folder,
        open_lab(Path(folder), choose_cores(arguments.cores)) as lab,
    ):
        numbers = track(range(arguments.rounds), console=Console(stderr=True), transient=True)
        trees = (earlier, ROOT)
        rounds = [take_round(lab, trees, arguments.seconds, number) for number in numbers]
    table = Table(title=f"{arguments.commit} and this tree, {arguments.rounds} rounds")
    for heading in ("", "unit", "earlier: least, median", "now: least, median", "now / earlier"):
        table.add_column(heading, justify="left" if not heading else "right")
    for row in ROWS:
        before, after = ([row.figure(pair[at], TARGET) for pair in rounds] for at in (0, 1))
        ratios = sorted(b / a for a, b in zip(before, after, strict=True))
        table.add_row(
            row.name,
            row.unit,
            *(
                f"{min(one):.{row.digits}f}, {median(one):.{row.digits}f}"
                for one in (before, after)
            ),
            f"{median(ratios):.3f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
        )
    Console(width=None if sys.stdout.isatty() else 130).print(table)


if __name__ == "__main__":
    main()
