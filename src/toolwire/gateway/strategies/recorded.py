"""Rebuilds the strategy that a trace names."""

from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.strategies.native import Hybrid, Native
from toolwire.gateway.strategies.prompted import Constrained, Prompted

_STRATEGIES: tuple[type[ToolStrategy], ...] = (Native, Hybrid, Prompted, Constrained)
_BY_KIND = {strategy.kind: strategy for strategy in _STRATEGIES}


def recorded_strategy(kind: str, format: str | None) -> ToolStrategy:  # noqa: A002
    """Return a strategy that reads answers like this kind does. Raises `KeyError`."""
    known = {str(name): strategy for name, strategy in _BY_KIND.items()}
    return known[kind](format=format) if format else known[kind]()
