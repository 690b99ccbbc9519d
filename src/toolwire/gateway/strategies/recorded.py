"""The strategy that a trace names."""

from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.strategies.native import Hybrid, Native
from toolwire.gateway.strategies.prompted import Constrained, Prompted

_STRATEGIES: tuple[type[ToolStrategy], ...] = (Native, Hybrid, Prompted, Constrained)
_BY_KIND = {strategy.kind: strategy for strategy in _STRATEGIES}


def recorded_strategy(kind: str, format: str | None) -> ToolStrategy:  # noqa: A002
    """A strategy that reads answers as the one of this kind did. Raises `KeyError`."""
    known = {str(name): strategy for name, strategy in _BY_KIND.items()}
    return known[kind](format=format) if format else known[kind]()
