"""The table of docs/hardening.md: each row has what tries it, and figures that were measured."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hard.__main__ import counted
from tests.hard.figures import NOTES, note, noted
from tests.hard.rows import ROOT, ROWS, claims

PAGE = (ROOT / "docs" / "hardening.md").read_text(encoding="utf-8")


def test_every_row_is_there_once() -> None:
    assert [row.id for row in ROWS] == [*(f"R{n}" for n in range(1, 28)), "timed", "fuzz"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_is_tried_or_says_why_not(row: object) -> None:
    assert row.commands or row.later  # type: ignore[attr-defined]
    assert f"| {row.id} |" in PAGE  # type: ignore[attr-defined]


def test_a_row_runs_in_the_size_that_it_says() -> None:
    assert [row.id for row in ROWS if row.size == "small"] == ["timed"]
    assert [row.id for row in ROWS if "small size" in row.what] == ["timed"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_command_is_of_files_that_there_are(row: object) -> None:
    for command in row.commands:  # type: ignore[attr-defined]
        files = [part for part in command if part.endswith(".py") or part == "tests"]
        assert all((ROOT / file).exists() for file in files)
        assert files or (ROOT / command[1].replace(".", "/") / "__main__.py").is_file()


def test_no_test_claims_a_row_that_there_is_not() -> None:
    known = {row.id for row in ROWS}
    assert {path: rows - known for path, rows in claims().items() if rows - known} == {}


def test_figures_are_of_rows_and_held() -> None:
    figures = json.loads((ROOT / "docs" / "hardening.json").read_text())
    assert set(figures) <= {row.id for row in ROWS}
    assert [row for row, result in figures.items() if not result["held"]] == []


def test_what_is_measured_is_written_down_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note("nobody asked")
    monkeypatch.setenv(NOTES, str(tmp_path / "notes"))
    note("3 ms")
    note("3 ms")
    assert noted(tmp_path / "notes") == ["3 ms"]


def test_figures_are_found_in_what_a_command_prints() -> None:
    output = "measured: added 1.1 ms\nsse: 5 executions in 1 s, 0 findings\n== 3 passed in 1 s"
    assert counted(output) == ["added 1.1 ms", "sse: 5 executions", "3 tests"]
    assert counted("nothing measured: 3") == []


@pytest.mark.process
def test_an_unknown_row_is_refused() -> None:
    command = [sys.executable, "-m", "tests.hard", "R99"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "R99" in done.stderr


def test_every_promise_of_the_security_page_names_rows_that_there_are() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    promises = text.split("## ")[1].split("\n- ")[1:]
    known = {row.id for row in ROWS}
    for promise in promises:
        named = set(promise.rpartition("(")[2].rstrip(".)\n ").replace(",", " ").split())
        assert named, promise
        assert named <= known, promise
