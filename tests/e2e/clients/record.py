"""Writes down what came of each client on each set-up: a pytest plugin of `make clients`."""

import datetime
import json
import time
from collections import defaultdict
from pathlib import Path

import pytest
from tests.e2e.clients.registry import CLIENTS

OWN = "own"
"""The set-up of a test that is about one client alone."""


def tell(item: pytest.Item) -> None:
    """Attach to a test which client does what in it, so that its report has it."""
    for mark in item.iter_markers("client"):
        item.user_properties.append(("client", mark.args[0]))
        item.user_properties.append(("setup", mark.kwargs.get("setup", OWN)))


class Record:
    """Counts passed and all tests of each client and set-up, and writes them to a file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._began = time.monotonic()
        self._cells: dict[str, dict[str, list[int]]] = defaultdict(dict)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test when it is over, or when it could not begin."""
        about = dict(report.user_properties)
        if "client" not in about or (report.when != "call" and report.passed):
            return
        cell = self._cells[str(about["client"])].setdefault(str(about["setup"]), [0, 0])
        cell[0] += report.passed
        cell[1] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file, in the process that has heard of all tests."""
        if hasattr(session.config, "workerinput"):
            return
        passed, tests = (
            sum(cell[n] for row in self._cells.values() for cell in row.values()) for n in (0, 1)
        )
        told = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "passed": passed,
            "tests": tests,
            "minutes": round((time.monotonic() - self._began) / 60),
            "versions": {name: CLIENTS[name].version for name in self._cells},
            "clients": self._cells,
        }
        self._path.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
