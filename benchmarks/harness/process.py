"""A process pinned to a core, and what it has cost so far: CPU time and memory.

CPU time comes from schedstat, in nanoseconds; the better known utime and stime count ticks
of 10 ms. Children (workers) are counted with their parent.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class CpuTime:
    """Time spent running on a core, and time spent ready but waiting for it."""

    run_ns: int
    wait_ns: int

    def since(self, earlier: "CpuTime") -> "CpuTime":
        """Return what was added after `earlier`."""
        return CpuTime(self.run_ns - earlier.run_ns, self.wait_ns - earlier.wait_ns)


def pin(core: int) -> Callable[[], None]:
    """Return what a new process calls to keep itself to one core."""
    return partial(os.sched_setaffinity, 0, {core})


def _environment() -> dict[str, str]:
    """Return this process's variables, but let Python keep what it compiles, as users do."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


class Process:
    """A running server of the benchmark."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        core: int,
        log: Path,
    ) -> None:
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=_environment(),
                preexec_fn=pin(core),  # noqa: PLW1509
            )

    @property
    def running(self) -> bool:
        """Has it not ended?"""
        return self._popen.poll() is None

    def cpu_time(self) -> CpuTime:
        """Return what all threads of the process and its descendants have used."""
        run = wait = 0
        for pid in _family(self._popen.pid):
            for stat in PROC.glob(f"{pid}/task/*/schedstat"):
                fields = stat.read_text().split()
                run += int(fields[0])
                wait += int(fields[1])
        return CpuTime(run, wait)

    def memory_mb(self) -> float:
        """Return the resident memory of the process and its descendants."""
        pages = sum(
            int((PROC / str(pid) / "statm").read_text().split()[1])
            for pid in _family(self._popen.pid)
        )
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def move(self, core: int) -> None:
        """Pin a process of one thread to another core."""
        os.sched_setaffinity(self._popen.pid, {core})

    def stop(self) -> None:
        """End the process and everything it started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not self.running:
                return
            os.killpg(self._popen.pid, number)
            try:
                self._popen.wait(timeout=5)
            except subprocess.TimeoutExpired:
                continue


def _family(root: int) -> Iterator[int]:
    """Yield `root` and its descendants."""
    yield root
    for children in PROC.glob(f"{root}/task/*/children"):
        for child in children.read_text().split():
            yield from _family(int(child))
