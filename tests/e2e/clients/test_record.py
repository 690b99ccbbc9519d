"""What is written down of a run: counts by client and set-up, and what failed by its name."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.e2e.clients.record import Record


def report(test: str, *, passed: bool, when: str = "call") -> Any:
    about = [("client", "goose"), ("setup", "native")]
    name = f"tests/e2e/test_clients.py::{test}"
    return SimpleNamespace(user_properties=about, nodeid=name, passed=passed, when=when)


def written(path: Path, *reports: Any, failed_only: bool = False, status: int = 1) -> Any:
    record = Record(str(path), failed_only=failed_only)
    for one in reports:
        record.pytest_runtest_logreport(one)
    session: Any = SimpleNamespace(config=SimpleNamespace())
    record.pytest_sessionfinish(session, status)
    return json.loads(path.read_text())["clients"]["goose"]["native"]


def test_a_test_counts_once_also_if_it_could_not_begin(tmp_path: Path) -> None:
    begun = report("a", passed=True, when="setup")
    never = report("b", passed=False, when="setup")
    cell = written(tmp_path / "record.json", begun, report("a", passed=True), never)
    assert cell == {"passed": 1, "failed": ["b"]}


def test_what_passes_after_it_had_failed_changes_the_record(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    written(path, report("a", passed=True), report("b", passed=False), report("c", passed=False))
    cell = written(path, report("b", passed=True), report("c", passed=False), failed_only=True)
    assert cell == {"passed": 2, "failed": ["c"]}


def test_a_run_that_was_stopped_leaves_the_record_alone(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    written(path, report("a", passed=True))
    assert written(path, report("a", passed=False), status=2) == {"passed": 1, "failed": []}
