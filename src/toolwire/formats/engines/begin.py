"""A short pattern per engine for how a call begins, to skip openers without a call.

A model stuck in a loop may write thousands of openers. Running an engine on each costs far more
than one regex search that also sees what follows. The pattern may give false positives but never
false negatives: it matches everything that the engine can read, including truncated text.
"""

from typing import NamedTuple


class Begin(NamedTuple):
    """`pattern` matches a short prefix, with `\\Z` where it may be truncated; "" matches anything.

    `why` is the reason reported for text that does not match.
    """

    pattern: str
    why: str


ANYTHING = Begin("", "")


def spaced(then: str, space: str = r"\s") -> str:
    """Match `then` after optional whitespace, or too much whitespace, or the end of the text."""
    return rf"{space}{{0,16}}+(?:\Z|{space}|{then})"
