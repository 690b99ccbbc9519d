"""What is written down of a run: counts by client and set-up, and what failed by its name."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.e2e.clients.record import Record


def report(test: str, *, passed: bool, when: str = "call") -> Any:
    about = [("client", "goose"), ("setup", "native")]
    name = f"tests/e2e/test_clients.py::test_{test}"
    return SimpleNamespace(user_properties=about, nodeid=name, passed=passed, when=when)


def written(path: Path, *reports: Any, some: bool = False, status: int = 1) -> Any:
    record = Record(str(path), some=some)
    for one in reports:
        record.pytest_runtest_logreport(one)
    session: Any = SimpleNamespace(config=SimpleNamespace())
    record.pytest_sessionfinish(session, status)
    return json.loads(path.read_text())["clients"]["goose"]["native"]


def test_a_test_counts_when_it_is_over_or_could_not_begin(tmp_path: Path) -> None:
    begun = [report(name, passed=True, when="setup") for name in ("a", "running")]
    never = report("b", passed=False, when="setup")
    cell = written(tmp_path / "record.json", *begun, report("a", passed=True), never)
    assert cell == {"a": True, "b": False}


def test_a_run_of_some_tests_changes_what_is_known_of_these(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    written(path, report("a", passed=True), report("b", passed=False), report("c", passed=False))
    cell = written(path, report("b", passed=True), some=True)
    assert cell == {"a": True, "b": True, "c": False}


def test_a_run_of_all_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    written(path, report("of_old", passed=True))
    assert written(path, report("a", passed=True)) == {"a": True}


def test_a_run_that_was_stopped_leaves_the_record_alone(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    written(path, report("a", passed=True))
    assert written(path, report("a", passed=False), status=2) == {"a": True}
