"""How much a model may write where nothing else sets a limit."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """The longest that a held model goes on if a schema does not say. 0: as long as it likes."""

    string: int = 0
    """Characters of a string."""
    array: int = 0
    """Items of an array."""
    tokens: int = 0
    """Tokens of an answer: what ends JSON that may be nested without end."""


UNBOUNDED = Bounds()
