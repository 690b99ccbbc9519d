"""Writes down what came of each client on each set-up: a pytest plugin of `make clients`."""

import datetime
import json
import time
from pathlib import Path

import pytest
from tests.e2e.clients.registry import CLIENTS

OWN = "own"
"""The set-up of a test that is about one client alone."""

Cells = dict[str, dict[str, dict[str, bool]]]
"""By client, set-up and test: whether it passed."""


def tell(item: pytest.Item) -> None:
    """Attach to a test which client does what in it, so that its report has it."""
    for mark in item.iter_markers("client"):
        item.user_properties.append(("client", mark.args[0]))
        item.user_properties.append(("setup", mark.kwargs.get("setup", OWN)))


class Record:
    """Writes to a file which tests of each client and set-up have passed.

    A run of some tests changes what is known of these.
    """

    def __init__(self, path: str, *, some: bool) -> None:
        self._path = Path(path)
        known = json.loads(self._path.read_text()) if some and self._path.exists() else {}
        self._cells: Cells = known.get("clients", {})
        self._minutes = known.get("minutes")
        self._began = None if some else time.monotonic()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of a test when it is over, or when it could not begin."""
        about = dict(report.user_properties)
        if "client" not in about or (report.when != "call" and report.passed):
            return
        row = self._cells.setdefault(str(about["client"]), {})
        test = report.nodeid.rpartition("::")[2].removeprefix("test_")
        row.setdefault(str(about["setup"]), {})[test] = report.passed

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the file, in the process that has heard of all tests, unless it was stopped."""
        if hasattr(session.config, "workerinput") or exitstatus > pytest.ExitCode.TESTS_FAILED:
            return
        if self._began is not None:
            self._minutes = round((time.monotonic() - self._began) / 60)
        told = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "minutes": self._minutes,
            "versions": {name: CLIENTS[name].version for name in self._cells},
            "clients": self._cells,
        }
        self._path.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")
