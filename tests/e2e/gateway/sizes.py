"""How much of everything: little in every run, all of it with TOOLWIRE_SIZE=full (`make hard`)."""

import os

FULL = os.environ.get("TOOLWIRE_SIZE") == "full"


def size(little: int, full: int) -> int:
    """One of the two."""
    return full if FULL else little
