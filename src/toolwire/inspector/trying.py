"""Turns with a chosen strategy, to compare native and prompted tools on a model."""

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.gateway.routes import Routes, ServedModel
from toolwire.gateway.strategies.selection import Mode, StrategySelector
from toolwire.gateway.turn import TurnService

MODES: tuple[Mode, ...] = ("native", "hybrid", "prompted", "auto")


def turns_by_mode(turns: TurnService) -> dict[Mode, TurnService]:
    """Return a copy of the service for each mode."""
    return {mode: replace(turns, routes=_forced(turns.routes.models, mode)) for mode in MODES}


def _forced(models: Iterable[ServedModel], mode: Mode) -> Routes:
    return Routes(replace(model, strategies=_selector(model, mode)) for model in models)


def _selector(model: ServedModel, mode: Mode) -> StrategySelector:
    """Return a separate selector, so that a trial does not affect other requests."""
    known = model.strategies
    return StrategySelector(mode, known.format, known.examples, known.clock)
