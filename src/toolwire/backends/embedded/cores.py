"""Chooses the default number of threads for a model.

It is half of the cores that this process may use. With one thread per core, all threads wait at
every layer for the one that another program has preempted: on two busy cores, two threads generated
2 tokens per second, and one generated 35.
"""

import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def default_threads() -> int:
    """Return the number of threads for a model without a configured number."""
    return max(1, int(usable_cores() / 2))


def usable_cores(quota: Path = _QUOTA) -> float:
    """Return the cores that this process may use: its affinity, limited by a container's quota."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, _within(quota))


def _within(quota: Path) -> float:
    """Read a container's CPU quota: `200000 100000` is two cores, `max` is no limit."""
    try:
        allowed, period = map(int, quota.read_text().split())
    except (OSError, ValueError):
        return float("inf")
    return allowed / period if period > 0 else float("inf")
