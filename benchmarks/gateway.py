"""Measures a gateway beside nginx, in front of a mock that costs next to nothing.

Prints added latency, requests per second, CPU per request and per paced chunk, time to the
first chunk, memory and start time, as ratios to nginx taken in the same run, beside the bars
they must meet. README.md says how to read them. Exits with 1 when a bar is missed.
"""

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.progress import track

from harness.answers import check_answers
from harness.budget import ROWS, Row, results
from harness.lab import Lab, open_lab
from harness.report import doubts, print_results, write_json
from harness.rounds import Round, Target, run_round, start_subjects
from harness.scenarios import LATENCY, PACED, timed
from harness.subjects import COMMANDS, custom_command
from harness.surfaces import served_by
from harness.toolchain import find_program

QUICK = {"rounds": 4, "seconds": 1.0}
FULL = {"rounds": 9, "seconds": 2.5}


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds (75 s)")
    parser.add_argument(
        "--surfaces",
        action="store_true",
        help="measure only the other surfaces against Chat Completions; needs no nginx",
    )
    parser.add_argument("--rounds", type=int, help="how often to repeat everything")
    parser.add_argument(
        "--target", choices=sorted(COMMANDS), default="toolwire", help="what to measure"
    )
    parser.add_argument(
        "--target-cmd",
        metavar="COMMAND",
        help="any other gateway; {port}, {mock_port}, {upstream} and {key} are filled in",
    )
    parser.add_argument("--health-path", default="/healthz", help="answers 200 once it is up")
    parser.add_argument("--cores", metavar="A,B", help="gateway's core, mock and client's core")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    return parser.parse_args()


def choose_cores(wanted: str | None) -> tuple[int, int]:
    """Return the gateway's core and the other one."""
    cores = [int(core) for core in wanted.split(",")] if wanted else sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("two cores are needed: one for the gateway, one for mock and client")
    return cores[0], cores[1]


def take_rounds(
    lab: Lab, target: Target, arguments: argparse.Namespace
) -> tuple[list[Round], list[Row]]:
    """Check that all subjects answer correctly, then measure them; with the rows to show."""
    beside = not arguments.surfaces
    with ExitStack() as stack:  # also the cold start, which is not to count
        subjects = start_subjects(lab, target, stack, beside_nginx=beside)
        for subject in subjects:
            check_answers(subject)
        surfaces = served_by(subjects[-1])
    settings = QUICK if arguments.quick else FULL
    scenarios = timed(settings["seconds"])
    if arguments.surfaces:
        scenarios = tuple(one for one in scenarios if one.name in (LATENCY.name, PACED.name))
    for surface in surfaces:
        scenarios += replace(surface.request, seconds=settings["seconds"] * 0.8), surface.paced
    count = arguments.rounds or int(settings["rounds"])
    numbers = track(range(count), "measuring", console=Console(stderr=True), transient=True)
    rounds = [run_round(lab, target, scenarios, number, beside_nginx=beside) for number in numbers]
    rows = [row for surface in surfaces for row in surface.rows()]
    return rounds, rows if arguments.surfaces else [*ROWS, *rows]


def main() -> int:
    """Measure, print, and say whether every bar is met."""
    arguments = parse_arguments()
    if not arguments.surfaces:
        find_program(("nginx",), "nginx-light")
    command = COMMANDS[arguments.target]
    if arguments.target_cmd:
        command = custom_command(arguments.target_cmd)
    name = "target" if arguments.target_cmd else arguments.target
    with (
        tempfile.TemporaryDirectory(prefix="toolwire-bench-") as folder,
        open_lab(Path(folder), choose_cores(arguments.cores)) as lab,
    ):
        rounds, shown = take_rounds(lab, Target(command, arguments.health_path), arguments)
    rows = results(rounds, shown)
    # Piped output has no width of its own; the default of 80 columns would break the lines.
    console = Console(width=None if sys.stdout.isatty() else 120)
    print_results(rows, name, console)
    for doubt in doubts(rounds):
        console.print(f"doubtful: {doubt}")
    if arguments.json:
        write_json(arguments.json, rows, rounds, name)
    return int(any(row.verdict == "MISSED" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
