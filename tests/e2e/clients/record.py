"""Writes down what came of each client on each set-up: a pytest plugin of `make clients`."""

import datetime
import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.clients.registry import CLIENTS

OWN = "own"
"""The set-up of a test that is about one client alone."""

Cells = dict[str, dict[str, dict[str, Any]]]
"""By client and set-up: how many tests `passed`, and which `failed`."""


def tell(item: pytest.Item) -> None:
    """Attach to a test which client does what in it, so that its report has it."""
    for mark in item.iter_markers("client"):
        item.user_properties.append(("client", mark.args[0]))
        item.user_properties.append(("setup", mark.kwargs.get("setup", OWN)))


class Record:
    """Counts the tests of each client and set-up, and writes them to a file.

    A run of what failed last time changes the record of that time.
    """

    def __init__(self, path: str, *, failed_only: bool) -> None:
        self._path = Path(path)
        self._known = json.loads(self._path.read_text()) if failed_only else {}
        self._cells: Cells = self._known.get("clients", {})
        self._began = time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test when it is over, or when it could not begin."""
        about = dict(report.user_properties)
        if "client" not in about or (report.when != "call" and report.passed):
            return
        row = self._cells.setdefault(str(about["client"]), {})
        cell = row.setdefault(str(about["setup"]), {"passed": 0, "failed": []})
        test = report.nodeid.rpartition("::")[2]
        cell["failed"] = [name for name in cell["failed"] if name != test]
        if report.passed:
            cell["passed"] += 1
        else:
            cell["failed"].append(test)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the file, in the process that has heard of all tests, unless it was stopped."""
        if hasattr(session.config, "workerinput") or exitstatus > pytest.ExitCode.TESTS_FAILED:
            return
        told = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "minutes": round((time.monotonic() - self._began) / 60),
            **{key: self._known[key] for key in ("date", "minutes") if key in self._known},
            "versions": {name: CLIENTS[name].version for name in self._cells},
            "clients": self._cells,
        }
        self._path.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
