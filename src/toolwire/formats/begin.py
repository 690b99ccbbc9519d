"""How the text of a call begins: a short pattern per engine, to pass over what is no call.

A model that repeats an opener for ever writes a thousand beginnings of calls, and to ask an engine
about each costs far more than one search that sees what follows them. The pattern errs on one side
only: it fits whatever the engine can read, also where the text is cut off, and may fit more.
"""

from typing import NamedTuple


class Begin(NamedTuple):
    """`pattern` fits short text only, with `\\Z` where it may be cut off; "" fits all.

    `why` is said of text that it does not fit.
    """

    pattern: str
    why: str


ANYTHING = Begin("", "")


def spaced(then: str, space: str = r"\s") -> str:
    """`then` behind some space; or more space than is looked past, or the end of the text."""
    return rf"{space}{{0,16}}+(?:\Z|{space}|{then})"
