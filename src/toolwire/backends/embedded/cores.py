"""How many threads a model may have here.

Half of the cores this process may use. With as many threads as cores, each waits at every layer
for the one that another program has interrupted: on two busy cores two threads made 2 tokens a
second where one made 35.
"""

import os
from pathlib import Path

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def default_threads() -> int:
    """Threads for a model that nobody gave a number of."""
    return max(1, int(usable_cores() / 2))


def usable_cores(quota: Path = _QUOTA) -> float:
    """The cores this process may use: those it is bound to, within a container's quota."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, _within(quota))


def _within(quota: Path) -> float:
    """What a container is allowed: `200000 100000` is two cores, `max` is no limit."""
    try:
        allowed, period = map(int, quota.read_text().split())
    except (OSError, ValueError):
        return float("inf")
    return allowed / period if period > 0 else float("inf")
