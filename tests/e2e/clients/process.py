"""Run one command with a time limit and leave nothing behind."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TAIL = 6000


@dataclass(frozen=True)
class Outcome:
    """How a command ended. `exit_code` is None when the time limit ended it."""

    exit_code: int | None
    output: str
    seconds: float

    @property
    def tail(self) -> str:
        """The end of the output, where the reason usually is."""
        return self.output if len(self.output) <= TAIL else "[...]" + self.output[-TAIL:]


def run(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], limit: float) -> Outcome:
    """Run to the end or to the limit; then end every process that is left of it.

    Output goes to a file: a daemon that keeps a pipe open would keep us reading.
    """
    began = time.monotonic()
    with tempfile.TemporaryFile() as sink:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            exit_code = _wait(process, limit)
        finally:
            _end_group(process.pid)
            process.wait()
            end_processes_at_home(env.get("HOME", ""))
        sink.seek(0)
        output = sink.read().decode(errors="replace")
    return Outcome(exit_code, output, time.monotonic() - began)


def _wait(process: subprocess.Popen[bytes], limit: float) -> int | None:
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None


def _end_group(leader: int) -> None:
    with suppress(ProcessLookupError):  # the group may be gone already
        os.killpg(leader, signal.SIGKILL)


def end_processes_at_home(home: str) -> None:
    """End the daemons that left the group: they still carry the HOME that only this run had."""
    if not home.startswith(tempfile.gettempdir()):
        return
    needle = f"HOME={home}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            continue  # it ended meanwhile, or belongs to somebody else
