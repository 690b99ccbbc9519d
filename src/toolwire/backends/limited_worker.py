"""The loop of a limited process: answers JSON lines on stdin with JSON lines on stdout.

The system enforces the limits on memory and on the time for each answer, even if the parent is
gone. The process ends at the end of stdin.
"""

import json
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def answer_lines(
    answer: Callable[[Any], Any], failed: Callable[[Exception], Any], *, memory: int
) -> None:
    """Answer line by line until stdin ends. The program's last argument is the time limit per
    answer, in seconds. `failed` turns an error into an answer with the key `error`."""
    seconds = float(sys.argv[-1])
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _limit(resource.RLIMIT_AS, memory)
    _limit(resource.RLIMIT_CORE, 0)
    for line in sys.stdin.buffer:
        # This limits CPU time, not wall time on a busy machine. The system kills us at the limit.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            said = answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - the work can raise anything
            said = failed(error)
        sys.stdout.buffer.write(json.dumps(said).encode() + b"\n")
        sys.stdout.buffer.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)  # reading the next line is not counted


def _limit(what: int, most: int) -> None:
    """Lower a resource limit. On a system without it, only the time limit applies."""
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(what, (most, most))
