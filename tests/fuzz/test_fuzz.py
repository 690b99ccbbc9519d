"""The stored inputs hold, new ones are tried for a minute in all, and the fuzzer finds defects."""

import os
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.fuzz.engine import CORPUS, Target, fuzz
from tests.fuzz.judge import Broken, judge
from tests.fuzz.targets import TARGETS

from toolwire.protocol import sse

ROOT = Path(__file__).parents[2]
SECONDS = 6
"""For each target: a minute in all. `make hard` takes an hour."""


@pytest.mark.parametrize("name", TARGETS)
def test_every_stored_input_holds(name: str) -> None:
    target = TARGETS[name]
    assert target.stored
    for path in target.stored:
        verdict = judge(target.run, path.read_bytes(), seconds=target.seconds)
        assert verdict.finding is None, f"{path.name}: {verdict.finding}"


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found_in_a_few_seconds(name: str) -> None:
    command = [sys.executable, "-m", "tests.fuzz", name, "--seconds", str(SECONDS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    sys.stdout.write(done.stdout)  # with the seed, which pytest shows when this fails
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 findings" in done.stdout


def test_the_corpus_is_small_and_of_targets_that_there_are() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)
    assert all(path.stat().st_size <= 16 << 10 for path in CORPUS.glob("*/*"))


class ForgetsTheCr(sse.SseDecoder):
    """A CR at the end of a read and an LF at the start of the next are two line ends."""

    def feed(self, block: bytes) -> list[sse.SseEvent]:
        self._after_cr = False
        return super().feed(block)


def test_a_law_that_is_broken_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.answer_targets.SseDecoder", ForgetsTheCr)
    run = fuzz(TARGETS["sse"], seed=1, seconds=20, most=1)
    assert any("do not depend on the reads" in kind for kind in run.findings), run.findings


def _toy(tmp_path: Path, run: Callable[[bytes], object], monkeypatch: pytest.MonkeyPatch) -> Target:
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "seed").write_bytes(b'{"a": [1, 2]}')
    monkeypatch.setattr("tests.fuzz.engine.CORPUS", tmp_path)
    return Target("toy", run, "a toy", [b"magic"])


def test_an_exception_is_found_and_its_input_made_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(data: bytes) -> object:
        return {}["lost"] if b"magic" in data else len(data) > 5

    found = fuzz(_toy(tmp_path, run, monkeypatch), seed=1, seconds=20, most=1).findings
    assert [data for data, _ in found.values()] == [b"magic"]


def test_what_takes_too_long_is_found() -> None:
    finding = judge(lambda _: sum(range(10**7)), b"", seconds=0.01).finding
    assert finding is not None
    assert finding.kind == "slow"


def test_what_never_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.judge.HOPELESS", 0.2)

    def run(_: bytes) -> object:
        return sum(0 for _ in count())

    finding = judge(run, b"").finding
    assert finding is not None
    assert finding.kind == "hangs"


def test_what_takes_too_much_memory_is_found() -> None:
    assert len(bytes(1 << 20) * 800)  # An earlier peak, which may be any other test's, hides none.
    finding = judge(lambda _: bytes(1 << 20) * 400, b"").finding
    assert finding is not None
    assert finding.kind == "large"


def test_a_broken_law_says_which() -> None:
    def run(_: bytes) -> object:
        raise Broken("water flows uphill")

    finding = judge(run, b"").finding
    assert finding is not None
    assert "uphill" in finding.kind


def test_an_input_that_kills_the_process_is_found_and_saved(tmp_path: Path) -> None:
    program = (
        "import os\n"
        "from tests.fuzz import apart\n"
        "from tests.fuzz.engine import Target\n"
        "def die(data):\n"
        "    os.abort()\n"
        "apart.TARGETS['sse'] = Target('sse', die, 'dies')\n"
        "if __name__ == '__main__':\n"
        "    assert apart.fuzz_apart('sse', 1, 1.0)\n"
    )
    (tmp_path / "program.py").write_text(program)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(tmp_path / "program.py")]
    said = subprocess.check_output(command, cwd=tmp_path, env=env, text=True)
    assert "ended with -6" in said
    saved = [path for path in (tmp_path / ".cache/fuzz/sse").iterdir() if path.name != "trying"]
    assert len(saved) == 1


def test_an_unknown_target_is_refused_with_those_there_are() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "nonsense"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "http, sse, answer" in done.stderr
