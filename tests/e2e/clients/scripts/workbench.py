"""What the Python scripts share: the tools of the file task, and the running of checks.

A script is `python SCRIPT BASE_URL KEY MODEL [CHECK ...]`. It imports nothing of Toolwire: it is
a user's program, and runs where only the library under test is installed.
"""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TASK = "Create hello.py so that running it prints hello. Then read it, run it, and finish."
MOST_TURNS = 30
FILE = Path("hello.py")
CONTENT = 'print("hello")'


def write_file(path: str, content: str) -> str:
    """Write a text file."""
    Path(path).write_text(content)
    return f"wrote {len(content)} characters to {path}"


def read_file(path: str) -> str:
    """Read a text file."""
    return Path(path).read_text()


def run_command(command: str) -> str:
    """Run a shell command and return what it prints."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    return done.stdout


TOOLS = {tool.__name__: tool for tool in (write_file, read_file, run_command)}


@dataclass(frozen=True)
class Target:
    """Where the model is."""

    base_url: str
    key: str
    model: str


Check = Callable[[Target], None]


class Checks:
    """The checks of one script, in the order they were written."""

    def __init__(self) -> None:
        self._usual: dict[str, Check] = {}
        self._extra: dict[str, Check] = {}

    def task(self, check: Check) -> Check:
        """Add a check that does the file task; the file is looked at afterwards."""

        def checked(target: Target) -> None:
            check(target)
            if not FILE.exists():
                raise AssertionError(f"{FILE} was not written")
            if FILE.read_text().strip() != CONTENT:
                raise AssertionError(f"{FILE} holds {FILE.read_text()!r}")

        self._usual[check.__name__] = checked
        return check

    def plain(self, check: Check) -> Check:
        """Add a check that judges for itself."""
        self._usual[check.__name__] = check
        return check

    def extra(self, check: Check) -> Check:
        """Add a check that runs only when it is named."""
        self._extra[check.__name__] = check
        return check

    def run(self, argv: list[str]) -> None:
        """Run the checks named, or the usual ones; exit with 1 if any fails."""
        base_url, key, model, *names = argv
        known = {**self._usual, **self._extra}
        target = Target(base_url, key, model)
        results = [_run_check(name, known[name], target) for name in names or self._usual]
        sys.exit(0 if all(results) else 1)


def _run_check(name: str, check: Check, target: Target) -> bool:
    here = Path.cwd()
    folder = here / name
    folder.mkdir()
    os.chdir(folder)
    try:
        check(target)
    except Exception:  # noqa: BLE001 - whatever a library raises is this check's result
        sys.stdout.write(f"FAIL {name}\n{traceback.format_exc()}\n")
        return False
    finally:
        os.chdir(here)
    sys.stdout.write(f"ok {name}\n")
    return True
