"""One target in a process of its own: what ends or stops the process is a finding, too."""

import hashlib
import multiprocessing
import resource
import sys
import time
from pathlib import Path

from tests.fuzz.engine import Run, fuzz
from tests.fuzz.targets import TARGETS

SAVED = Path(".cache/fuzz")
_MEMORY = 4 << 30
_FOUND = 3


def fuzz_apart(name: str, seed: int, seconds: float) -> bool:
    """Fuzz one target in a process of its own; whether anything was found."""
    folder = SAVED / name
    folder.mkdir(parents=True, exist_ok=True)
    trying = folder / "trying"
    process = multiprocessing.get_context("spawn").Process(
        target=_fuzz_here, args=(name, seed, seconds, trying)
    )
    process.start()
    process.join(2 * seconds + 120)
    hangs = process.is_alive()
    process.kill()
    process.join()
    if process.exitcode in (0, _FOUND) and not hangs:
        return process.exitcode == _FOUND
    how = "it hangs" if hangs else f"the process ended with {process.exitcode}"
    sys.stdout.write(f"{name}: {how}, at {_saved(name, trying.read_bytes())}\n")
    return True


def _fuzz_here(name: str, seed: int, seconds: float, trying: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    began = time.monotonic()
    with trying.open("wb", buffering=0) as file:

        def note(data: bytes) -> None:
            file.seek(0)
            file.write(data)
            file.truncate()

        run = fuzz(TARGETS[name], seed=seed, seconds=seconds, before=note)
    sys.stdout.write(report(run, time.monotonic() - began) + "\n")
    trying.unlink()
    sys.exit(_FOUND if run.findings else 0)


def report(run: Run, seconds: float) -> str:
    """What a run came to, in lines."""
    lines = [
        f"{run.target.name}: {run.executions} executions in {seconds:.0f} s, {run.lines} lines, "
        f"{len(run.kept)} kept, slowest {run.slowest * 1000:.0f} ms, {len(run.findings)} findings"
    ]
    for data, finding in run.findings.values():
        lines += [f"  {finding.kind}", f"    {_saved(run.target.name, data)}"]
        lines += [f"    {line}" for line in finding.what.splitlines()]
    return "\n".join(lines)


def _saved(name: str, data: bytes) -> Path:
    path = SAVED / name / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return path
