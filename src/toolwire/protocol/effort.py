"""Reasoning effort: the levels that clients ask for, and the nearest one that a server knows."""

from collections.abc import Collection

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""All levels, in their order. No server knows all of them."""
_BUDGETS = ((4096, "low"), (16384, "medium"))
"""Below these numbers of thinking tokens, the level that stands for them."""


def nearest_effort(asked: str, known: Collection[str]) -> str:
    """Return the level in `known` that is nearest to `asked`, rather a lower one. An unknown level
    is returned unchanged, and reasoning is never switched off unless asked for."""
    if asked in known or asked not in EFFORTS or not known:
        return asked
    rank = EFFORTS.index(asked)
    levels = [level for level in EFFORTS[1:] if level in known]
    return min(levels, key=lambda level: abs(EFFORTS.index(level) - rank), default=asked)


def effort_of_budget(tokens: int) -> str:
    """Return the level that stands for a number of thinking tokens."""
    return next((level for most, level in _BUDGETS if tokens < most), "high")
