"""What work costs, without the rest of the machine in it.

Time is CPU time of this thread, and the collector of garbage rests, since it would look at all that
the tests have made. Whatever else the machine does can only add to that time, so the least of some
runs is what the work itself costs. What is compared runs in turns, so that a busy moment meets all
of it. More runs bring each time nearer to the truth, those that are compared with just as much as
the others: that is not the same as trying until a comparison happens to come out well.
"""

import gc
import time
from collections.abc import Callable

Run = Callable[[], float]
"""One run, which returns its seconds."""
ROUNDS = 3
MOST_ROUNDS = 10


def cpu(action: Callable[[], object]) -> float:
    """The seconds of one run of `action`."""
    collecting = gc.isenabled()
    gc.disable()
    began = time.thread_time()
    try:
        action()
        return time.thread_time() - began
    finally:
        if collecting:
            gc.enable()


def in_a_row(times: int, run: Run) -> Run:
    """So many runs as one, which returns the mean of their seconds.

    For short work that is compared with longer work: it then takes as long, and slips between two
    busy moments no more easily.
    """
    return lambda: sum(run() for _ in range(times)) / times


def least(*runs: Run, enough: Callable[..., bool], rounds: int = ROUNDS) -> list[float]:
    """The least seconds of each run: of some `rounds`, and of more unless these are `enough`."""
    taken = [float("inf")] * len(runs)
    for number in range(1, MOST_ROUNDS + 1):
        taken = [min(best, run()) for best, run in zip(taken, runs, strict=True)]
        if number >= rounds and enough(*taken):
            break
    return taken


def below(limit: float, action: Callable[[], object]) -> float:
    """The least seconds of `action`. A run within the limit proves it; only others are repeated."""
    return least(lambda: cpu(action), enough=lambda taken: taken <= limit, rounds=1)[0]
