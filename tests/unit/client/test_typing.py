"""Type checkers understand a user's program: a tool keeps its signature."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.clients import node

FOLDER = Path(__file__).parent / "typed"
GOOD, BAD = FOLDER / "good.py", FOLDER / "bad.py"
MISTAKES = [n for n, line in enumerate(BAD.read_text().splitlines(), 1) if "# mistake" in line]
pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]


def mypy(path: Path) -> list[int]:
    """The lines that mypy complains about."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--output", "json"]
    done = subprocess.run(
        [*command, "--config-file", "", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [one["line"] for one in found if one["severity"] == "error"]


def pyright(path: Path) -> list[int]:
    """The lines that pyright complains about, in its strict mode."""
    settings = path.parent / "pyrightconfig.json"
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--project", str(settings),
         "--pythonpath", sys.executable],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": f"{node.BIN}:{os.environ['PATH']}",
             "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "PYRIGHT_PYTHON_GLOBAL_NODE": "1"},
    )  # fmt: skip
    found = json.loads(done.stdout)["generalDiagnostics"]
    wrong = [one for one in found if one["severity"] == "error" and one["file"] == str(path)]
    return [one["range"]["start"]["line"] + 1 for one in wrong]


@pytest.mark.parametrize("check", [mypy, pyright])
def test_a_correct_program_is_understood(check: object) -> None:
    assert callable(check)
    assert check(GOOD) == []


@pytest.mark.parametrize("check", [mypy, pyright])
def test_mistakes_are_found(check: object) -> None:
    assert callable(check)
    assert sorted(set(check(BAD))) == MISTAKES
