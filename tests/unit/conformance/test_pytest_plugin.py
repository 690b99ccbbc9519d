import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ADAPTER = """
from tests.unit.conformance.faulty import Raises, Toy

def right(name): return Toy()
def wrong(name): return Raises()
"""
CASE = {"name": "x", "text": 'CALL f {"a": 1};', "content": None, "reasoning": None}
CASE |= {"calls": [{"name": "f", "arguments": {"a": 1}}], "note": "a toy"}
ROOT = Path(__file__).parents[3]


def run(folder: Path, parser: str, *words: str) -> tuple[int, str]:
    (folder / "my_adapters.py").write_text(ADAPTER)
    (folder / "toy.json").write_text(json.dumps({"format": "toy", "cases": [CASE]}))
    command = [sys.executable, "-m", "pytest", "-p", "toolwire.conformance.pytest_plugin"]
    command += ["-p", "no:cacheprovider", "--toolwire-parser", parser, *words]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode() + done.stderr.decode()


def test_every_case_becomes_a_test_that_can_be_chosen(tmp_path: Path) -> None:
    words = ("--toolwire-format", "longcat", "-k", "one_call", "-v")
    code, output = run(tmp_path, "toolwire.conformance.adapters:ours", *words)
    assert code == 0
    assert "toolwire::longcat/one_call PASSED" in output
    assert "toolwire::longcat/one_call:stream PASSED" in output
    assert "2 passed" in output


def test_a_failure_shows_the_problem_and_the_note(tmp_path: Path) -> None:
    code, output = run(tmp_path, "my_adapters:wrong", "--toolwire-cases", "toy.json")
    assert code == 1
    assert "the parser raised IndexError" in output
    assert "(a toy)" in output
    assert "2 failed" in output


def test_failures_on_the_list_are_expected(tmp_path: Path) -> None:
    (tmp_path / "xfail.txt").write_text("toy/*\n")
    words = ("--toolwire-cases", "toy.json", "--toolwire-xfail", "xfail.txt")
    code, output = run(tmp_path, "my_adapters:wrong", *words)
    assert code == 0
    assert "2 xfailed" in output


@pytest.mark.parametrize(
    ("parser", "message"),
    [("no.such:x", "cannot import no.such"), ("my_adapters:nothing", "has no 'nothing'")],
)
def test_a_parser_that_cannot_be_loaded_is_a_clear_error(
    tmp_path: Path, parser: str, message: str
) -> None:
    code, output = run(tmp_path, parser)
    assert code == 2
    assert message in output
    assert "INTERNALERROR" not in output


def test_without_a_parser_the_plugin_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "toolwire.conformance.pytest_plugin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert b"1 passed" in done.stdout
