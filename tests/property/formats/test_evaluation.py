"""Nothing a model writes is evaluated: nothing is run, opened or reached (R1)."""

import subprocess
import sys
from pathlib import Path

import pytest
from hostile import CORPUS

from toolwire.formats import names

pytestmark = pytest.mark.process

_PROGRAM = str(Path(__file__).parent / "watch_evaluation.py")


def _watch(*arguments: str) -> tuple[int, list[str]]:
    command = [sys.executable, _PROGRAM, *arguments]
    count, *events = subprocess.run(
        command, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return int(count), events


def test_the_corpus_is_large() -> None:
    assert len(set(CORPUS)) >= 500


@pytest.mark.slow
def test_hostile_arguments_are_never_evaluated() -> None:
    count, events = _watch()
    assert count == len(names()) * len(CORPUS) * 2
    assert events == []


def test_a_parser_that_makes_code_is_caught() -> None:
    _, events = _watch("broken")
    assert any(event.startswith("compile") for event in events)
