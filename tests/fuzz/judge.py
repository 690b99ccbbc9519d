"""Runs a target on one input, and says what is wrong with that: nothing, if all that must holds.

What must hold for every target: no exception but those that it declares (it catches them itself),
no law of its own broken (`Broken`), no more CPU than `SECONDS`, no more memory than `MEGABYTES`.
Time is CPU time, so that a busy machine finds nothing.
"""

import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS = 1.0
HOPELESS = 10.0
MEGABYTES = 128


class Broken(AssertionError):
    """A law does not hold. The text says which, and how."""


class _Hangs(BaseException):
    """Not caught by anything that is tried."""


@dataclass(frozen=True)
class Finding:
    """What is wrong. `kind` is the same for what has the same cause, most likely."""

    kind: str
    what: str


@dataclass
class Verdict:
    """What became of one input."""

    finding: Finding | None
    seconds: float
    shape: object = None
    """What the target returned: inputs of different shapes are different in kind."""


def check(condition: object, what: str) -> None:
    """A law: raise `Broken` if it does not hold."""
    if not condition:
        raise Broken(what)


def judge(target: Callable[[bytes], Any], data: bytes, *, seconds: float = SECONDS) -> Verdict:
    """Run a target on an input, and once more if it was slow, without counting its lines: that
    alone costs several times as much as some inputs."""
    verdict = _judge(target, data, seconds)
    if verdict.finding is not None and verdict.finding.kind == "slow":
        sys.settrace(None)
        return _judge(target, data, seconds)
    return verdict


def _judge(target: Callable[[bytes], Any], data: bytes, seconds: float) -> Verdict:
    memory, began = _memory_now(), time.process_time()
    finding, shape = None, None
    try:
        with _ending():
            shape = target(data)
    except _Hangs:
        finding = Finding("hangs", f"not over after {HOPELESS} s of CPU")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
        finding = Finding(_kind(error), "".join(traceback.format_exception(error, limit=-8)))
    used = time.process_time() - began
    if finding is None and used > seconds:
        finding = Finding("slow", f"{used:.2f} s of CPU for {len(data)} bytes")
    more = _most_memory() - memory
    if finding is None and more > MEGABYTES:
        finding = Finding("large", f"{more} MB for {len(data)} bytes")
    return Verdict(finding, used, shape)


def _kind(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    if isinstance(error, Broken):
        return f"Broken: {error}"[:120]
    return f"{type(error).__name__} in {frame.filename.rpartition('/')[2]}:{frame.name}"


def _memory_now() -> int:
    """The megabytes of this process. What follows counts from here: a peak of something earlier
    would hide a lower one."""
    with suppress(OSError):  # Linux only
        Path("/proc/self/clear_refs").write_text("5")
    return _most_memory()


def _most_memory() -> int:
    """The most megabytes of this process since `_memory_now`; elsewhere than on Linux, ever."""
    with suppress(OSError):
        peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
        if peak is not None:
            return int(peak[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@contextmanager
def _ending() -> Iterator[None]:
    def end(*_: object) -> None:
        raise _Hangs

    signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, HOPELESS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
