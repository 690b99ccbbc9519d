"""The strategy of an attempt in a trace: what decides how its answer is read, and nothing else."""

from typing import Any

from toolwire.formats import Detection
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.strategies.native import Hybrid, Native
from toolwire.gateway.strategies.prompted import Constrained, Prompted

_STRATEGIES: tuple[type[ToolStrategy], ...] = (Native, Hybrid, Prompted, Constrained)
_BY_KIND: dict[str, type[ToolStrategy]] = {strategy.kind: strategy for strategy in _STRATEGIES}


def strategy_record(strategy: ToolStrategy) -> dict[str, Any]:
    """Return what a trace says about a strategy."""
    return {
        "kind": strategy.kind,
        "format": strategy.format,
        "guessed": strategy.guessed,
        "detecting": strategy.watch is not None,
        "unproven": strategy.unproven,
    }


def recorded_strategy(
    kind: str,
    format: str | None,  # noqa: A002
    *,
    guessed: bool = False,
    detecting: bool = False,
    unproven: bool = False,
) -> ToolStrategy:
    """Return a strategy that reads answers like the recorded one. Raises `KeyError`.

    Older traces do not say whether the format was `guessed`, whether calls in other formats were
    detected, or whether the backend was `unproven`.
    """
    options: dict[str, Any] = {"format": format} if format else {}
    watch = _learn_nothing if detecting else None
    return _BY_KIND[kind](guessed=guessed, watch=watch, unproven=unproven, **options)


def _learn_nothing(_found: Detection | None) -> None:
    """Ignore the format of calls: a replay is no evidence."""
