"""The harness leaves nothing behind: limits hold, and children and daemons are ended."""

import os
import sys
import time
from pathlib import Path

from tests.e2e.clients.process import Outcome, run

SLEEPER = "import time; time.sleep(60)"
SPAWN = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {SLEEPER!r}], start_new_session=%s)
print(child.pid, flush=True)
"""


def run_python(code: str, home: Path, limit: float = 30) -> Outcome:
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    return run([sys.executable, "-c", code], cwd=home, env=env, limit=limit)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends_soon(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not is_alive(pid)


def test_exit_code_and_all_output_are_kept(tmp_path: Path) -> None:
    outcome = run_python("import sys; print('out'); sys.exit('err')", tmp_path)
    assert outcome.exit_code == 1
    assert sorted(outcome.output.split()) == ["err", "out"]


def test_a_command_past_its_limit_is_ended(tmp_path: Path) -> None:
    outcome = run_python(SLEEPER, tmp_path, limit=0.5)
    assert outcome.exit_code is None
    assert outcome.seconds < 10


def test_a_child_left_in_the_group_is_ended(tmp_path: Path) -> None:
    outcome = run_python(SPAWN % "False", tmp_path)
    assert ends_soon(int(outcome.output))


def test_a_daemon_that_left_the_group_is_ended(tmp_path: Path) -> None:
    outcome = run_python(SPAWN % "True", tmp_path)
    assert ends_soon(int(outcome.output))
