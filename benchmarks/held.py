"""Holds 200 streams open for a minute, each with 20 tools, and measures what the gateway adds.

A stream is 100 chunks of a call's arguments, 50 ms apart; when it is over, its client asks again.
Prints the time to the first event and to the end, straight to the mock and through the gateway,
and exits with 1 if the gateway adds more than it may. Any answer that is not a complete 200 ends
the run.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gateway import choose_cores
from harness.lab import Lab, Sample, open_lab
from harness.payload import body, wish
from harness.scenarios import Scenario
from harness.subjects import COMMANDS, Subject

STREAMS = 200
CHUNKS = 100
EVERY_US = 50_000
MOST_ADDED_MS = {"p50": 5.0, "p99": 25.0}
TIMES = {"first event": "first_event_us", "end": "latency_us"}


def held(seconds: float) -> Scenario:
    """The load: streams that begin one after the other, so that they do not march in step."""
    return Scenario(
        "held",
        body(wish(CHUNKS, EVERY_US), stream=True),
        connections=STREAMS,
        seconds=seconds,
        stagger_us=CHUNKS * EVERY_US // STREAMS,
    )


def measure(lab: Lab, seconds: float) -> tuple[Sample, Sample, float]:
    """Straight to the mock, then through the gateway; and the memory of the gateway."""
    direct = Subject("direct", lab.mock.port, lab.mock.process, 0.0)
    with ExitStack() as stack:
        subject = lab.start("toolwire", COMMANDS["toolwire"], "/healthz")
        stack.callback(subject.process.stop)
        lab.measure(subject, held(2.0))
        straight = lab.measure(direct, held(min(seconds, 10.0)))
        through = lab.measure(subject, held(seconds))
        return straight, through, subject.process.memory_mb()


def main() -> int:
    """Measure, print, and say whether the gateway adds little enough."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to hold them")
    parser.add_argument("--cores", metavar="A,B", help="gateway's core, mock and client's core")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="toolwire-bench-") as folder,
        open_lab(Path(folder), choose_cores(arguments.cores)) as lab,
    ):
        straight, through, memory = measure(lab, arguments.seconds)
    table = Table("time to", "", "direct, ms", "toolwire, ms", "added, ms", "bar, ms")
    missed, added = False, []
    for name, series in TIMES.items():
        for point, most in MOST_ADDED_MS.items():
            before, after = (sample.load[series][point] / 1e3 for sample in (straight, through))
            missed |= after - before > most
            added.append(f"{after - before:.1f} ms ({name}, {point})")
            table.add_row(
                name, point, f"{before:.2f}", f"{after:.2f}", f"{after - before:.2f}", f"{most:g}"
            )
    console = Console()
    console.print(table)
    console.print(
        f"{through.load['requests']} streams, {through.load['events']} events, "
        f"{through.busy:.0%} of a core, {memory:.0f} MB"
    )
    print("measured:", "added", ", ".join(added))  # for docs/hardening.md
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
