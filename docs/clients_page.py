"""The page about the real clients that are run: its figures are written by `make clients`."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.e2e.clients.breaks import ALL
from tests.e2e.clients.registry import CLIENTS
from tests.e2e.clients.setups import MORE, SETUPS

Table = Callable[[Iterable[str], Iterable[Iterable[str]]], str]

RECORD = Path(__file__).parent / "clients.json"
COLUMNS = {**{name: setup.about for name, setup in SETUPS.items()}, **MORE}


def parts(table: Table) -> Iterable[str]:
    """The page, part by part."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    yield "# What was run"
    yield (
        "Real clients, at pinned versions, each doing a small task through Toolwire with its own "
        "tools: write a file, read it, run it, finish. A library has a script that does it in "
        "every way the library has: whole, streamed, with its helpers and runners. The model is "
        "scripted, so a run needs no network and is always the same: this shows that calls, "
        "results and errors get through, not how well a model works."
    )
    passed = [one for row in record["clients"].values() for c in row.values() for one in c.values()]
    minutes = record["minutes"]
    lasted = f"in {minutes} minutes" if minutes else "in several runs"
    yield (
        f"`make clients`, last on {record['date']}: {sum(passed)} of {len(passed)} tests "
        f"passed, {lasted}."
    )
    yield table(
        ("client", "version", "API", *COLUMNS),
        (_row(name, record) for name in CLIENTS if name in record["clients"]),
    )
    yield (
        "`yes` is one test that passed, a number that many; an empty cell was not run, or does not "
        "apply. Each column is a kind of model server. Toolwire is given nothing but its address, "
        "except where a format is configured."
    )
    yield table(("column", "the server"), COLUMNS.items())
    yield (
        "A server that ignores tools cannot be told from a model that would rather talk, until a "
        "call is demanded of it. `toolwire check` and `toolwire doctor` demand one and say what "
        'they found; then set `mode = "prompted"` for its route.'
    )
    broken = ", ".join(f"`{name}`" for name in sorted(ALL))
    yield (
        f"*broken*: Codex and Claude Code are run with all {len(ALL)} faults, and each client of "
        "chat completions with those that end its task if Toolwire is not between; the others "
        f"with some. The faults are {broken}. `python -m tests.scripted --list` explains them."
    )


def _row(name: str, record: Any) -> tuple[str, ...]:
    client, cells = CLIENTS[name], record["clients"][name]
    counts = (_count(cells.get(column)) for column in COLUMNS)
    return f"`{name}`", record["versions"][name], client.api, *counts


def _count(tests: dict[str, bool] | None) -> str:
    if not tests:
        return ""
    if not all(tests.values()):
        return f"**{sum(tests.values())} of {len(tests)}**"
    return "yes" if len(tests) == 1 else str(len(tests))
