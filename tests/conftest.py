"""What `make quick` leaves out, and how it is kept quick.

A test that starts a process has the mark `process`; all tests in tests/e2e have it. Where they are
left out, a test that starts one all the same fails, so that no mark is forgotten.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

E2E = Path(__file__).parent / "e2e"
_STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"})


def pytest_configure(config: pytest.Config) -> None:
    """Watch for processes where there are to be none, and let Ctrl-C through.

    Whoever runs tests in the background has SIGINT ignored, and every process that they start
    would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "not process" in config.getoption("markexpr"):
        sys.addaudithook(_refuse)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    if event in _STARTS and "PYTEST_CURRENT_TEST" in os.environ:
        raise RuntimeError(f"{args[:1]}: a test that starts a process has the mark `process`")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is end to end."""
    for item in items:
        if E2E in item.path.parents:
            item.add_marker("process")
