"""Shows the results: a table for people, JSON for everything else, and what to doubt."""

import json
import os
import platform
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from harness.budget import Limit, Result
from harness.rounds import DIRECT, NGINX, TARGET, Round

_STYLES = {"aim met": "green", "bar met": "yellow", "MISSED": "bold red", "": ""}


def print_results(results: list[Result], target: str, console: Console) -> None:
    """Print one line per row: medians, and the range of the ratio over the rounds."""
    table = Table(title=f"{target} beside nginx: medians, and the range of the ratio", box=SIMPLE)
    for heading in ("", "nginx", target, "x nginx", "bar", "aim", ""):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for result in results:
        row = result.row
        table.add_row(
            f"{row.name}, {row.unit}",
            f"{median(result.nginx):,.{row.digits}f}" if result.nginx else "",
            f"{median(result.target):,.{row.digits}f}",
            _ratio(result),
            *_limits(row.limit, row.unit),
            f"[{_STYLES[result.verdict]}]{result.verdict}[/]" if result.verdict else "",
        )
    console.print(table)


def _ratio(result: Result) -> str:
    """Show the ratio unless only the target's own figure means anything."""
    if result.row.limit and result.row.limit.of == "target":
        return ""
    ratios = result.ratios
    return f"{median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})"


def _limits(limit: Limit | None, unit: str) -> tuple[str, str]:
    if limit is None:
        return "", ""
    sign = ">=" if limit.at_least else "<="
    suffix = "x" if limit.of == "ratio" or unit == "x" else unit
    return f"{sign} {limit.bar:g} {suffix}", f"{sign} {limit.aim:g} {suffix}"


def doubts(rounds: list[Round]) -> Iterator[str]:
    """Say what makes these figures less than trustworthy."""
    if any(NGINX not in taken.start_seconds for taken in rounds):
        return
    for name in (NGINX, TARGET):
        samples = [taken.sample("saturate", name) for taken in rounds]
        waiting = median(sample.kept_waiting for sample in samples)
        if waiting > 0.03:
            yield f"{name} was kept waiting for its core {waiting:.0%} of the time: noisy machine"
        busy = median(sample.busy for sample in samples)
        if busy + waiting < 0.9:
            yield f"{name} used only {busy:.0%} of its core: it was not saturated"
    direct = median(taken.sample("saturate", DIRECT).requests_per_second for taken in rounds)
    nginx = median(taken.sample("saturate", NGINX).requests_per_second for taken in rounds)
    if direct < 1.3 * nginx:
        yield "mock and load client are hardly faster than nginx: they may be the limit"


def write_json(path: Path, results: list[Result], rounds: list[Round], target: str) -> None:
    """Write every figure of every round."""
    document = {
        "target": target,
        "machine": {
            "kernel": platform.release(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        "doubts": list(doubts(rounds)),
        "rows": [
            {
                "name": result.row.name,
                "unit": result.row.unit,
                "nginx": result.nginx,
                "target": result.target,
                "ratios": result.ratios,
                "bar": result.row.limit and result.row.limit.bar,
                "aim": result.row.limit and result.row.limit.aim,
                "verdict": result.verdict,
            }
            for result in results
        ],
        "loads": [
            {"/".join(key): sample.load for key, sample in taken.samples.items()}
            for taken in rounds
        ],
    }
    path.write_text(json.dumps(document, indent=1) + "\n")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
