"""`python -m tests.fuzz [TARGET ...] --seconds N --seed S`: fuzz, each target in its own process.

The seconds are shared by the targets; two targets at a time (`--jobs 2`) take half as long. Prints
the seed, what was done and what was found; what was found is saved below .cache/fuzz, also where it
ended the process. Ends with 1 if there is any.
"""

import argparse
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.apart import fuzz_apart
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Fuzz what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--jobs", type=int, default=1, help="how many targets at a time")
    parser.add_argument("--seed", type=int, default=None, help="to do the same again")
    chosen = parser.parse_args()
    if unknown := set(chosen.targets) - set(TARGETS):
        parser.error(f"no target {', '.join(sorted(unknown))}. There are: {', '.join(TARGETS)}")
    names = chosen.targets or list(TARGETS)
    seed = secrets.randbelow(1 << 32) if chosen.seed is None else chosen.seed
    sys.stdout.write(f"seed {seed}\n")
    sys.stdout.flush()
    each = chosen.seconds / len(names)
    with ThreadPoolExecutor(chosen.jobs) as pool:
        found = list(pool.map(lambda name: fuzz_apart(name, seed, each), names))
    return int(any(found))


if __name__ == "__main__":
    sys.exit(main())
