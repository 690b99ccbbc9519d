"""`python -m tests.hard [ROW ...]`: try everything in full size, and write down the figures.

Prints how long it may take. Each row runs by itself, so that what it measures is its own; its
output goes to .cache/hard/ROW.txt. docs/hardening.json and the page are written after each row.
Ends with 1 if any row fails.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import time
from typing import Any

from tests.hard.figures import NOTES, noted
from tests.hard.rows import ROOT, ROWS, Row

CACHE = ROOT / ".cache" / "hard"
FIGURES = ROOT / "docs" / "hardening.json"
_PASSED = re.compile(r"(\d+) passed")
_MEASURED = re.compile(r"^measured: (.+)$", re.MULTILINE)
_FUZZED = re.compile(r"^\w+: \d+ executions", re.MULTILINE)


def main() -> int:
    """Run the rows that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.hard", description=__doc__)
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", help="R1 to R27, timed, fuzz; all by default"
    )
    chosen = set(parser.parse_args().rows)
    if unknown := chosen - {row.id for row in ROWS}:
        parser.error(f"no row {', '.join(sorted(unknown))}")
    rows = [row for row in ROWS if row.commands and (not chosen or row.id in chosen)]
    minutes = sum(row.minutes for row in rows)
    _say(f"{len(rows)} rows, about {minutes:.0f} minutes on a quiet machine")
    failed = [row.id for row in rows if not run(row)]
    _say(f"failed: {', '.join(failed)}" if failed else "all rows hold")
    return int(bool(failed))


def run(row: Row) -> bool:
    """Run one row in its size; whether it holds."""
    CACHE.mkdir(parents=True, exist_ok=True)
    notes, output = CACHE / f"{row.id}.notes", CACHE / f"{row.id}.txt"
    notes.unlink(missing_ok=True)
    env = {**os.environ, "TOOLWIRE_SIZE": row.size, NOTES: str(notes)}
    began, good = time.monotonic(), True
    with output.open("w") as file:
        for command in row.commands:
            full = [sys.executable, *command]
            good &= subprocess.call(full, cwd=ROOT, env=env, stdout=file, stderr=file) == 0
    seconds = round(time.monotonic() - began)
    text = output.read_text(errors="replace")
    figures = [*noted(notes), *counted(text)]
    _write(row.id, {"held": good, "figures": figures, "seconds": seconds})
    how = "holds" if good else f"FAILS, see {output}"
    _say(f"{row.id}: {how} ({seconds} s) {'; '.join(figures)}")
    return good


def counted(output: str) -> list[str]:
    """What the output says: figures of a benchmark, and how many tests there were."""
    passed = sum(map(int, _PASSED.findall(output)))
    said = [*_MEASURED.findall(output), *_FUZZED.findall(output)]
    return [*said, f"{passed} tests"] if passed else said


def _write(row: str, result: dict[str, Any]) -> None:
    known = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    known[row] = {**result, "date": datetime.datetime.now(datetime.UTC).date().isoformat()}
    FIGURES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    subprocess.run([sys.executable, ROOT / "docs" / "generate.py"], cwd=ROOT, check=True)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
