"""The models we serve, by the names clients use."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolwire.backends.pool import BackendPool
from toolwire.errors import ModelNotFound
from toolwire.gateway.strategies.selection import StrategySelector
from toolwire.gateway.token_count import TokenCounter

ANY = "*"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model name and the backends behind it. `*` stands for every other name."""

    name: str
    pool: BackendPool
    custom_tools: bool = False
    strategies: StrategySelector = field(default_factory=StrategySelector)
    tokens: TokenCounter | None = None
    """Counts what a backend does not say; None: it is estimated."""


class Routes:
    """Finds the model a client asks for."""

    def __init__(self, models: Iterable[ServedModel]) -> None:
        self._models = {model.name: model for model in models}

    def find(self, name: str) -> ServedModel:
        """The model of this name; raises `ModelNotFound`, naming those there are."""
        model = self._models.get(name) or self._models.get(ANY)
        if model is None:
            known = ", ".join(f"'{known}'" for known in self.names[:20])
            raise ModelNotFound(
                f"The model '{name[:100]}' does not exist or you do not have access to it. "
                f"This server has: {known}."
            )
        return model

    def default(self) -> ServedModel:
        """Where a request without a model goes: to `*`, else to the first one."""
        return self._models.get(ANY) or next(iter(self._models.values()))

    @property
    def names(self) -> list[str]:
        """The names that can be listed."""
        return [name for name in self._models if name != ANY]

    @property
    def any(self) -> ServedModel | None:
        """The model that stands for every other name, if there is one."""
        return self._models.get(ANY)

    @property
    def models(self) -> list[ServedModel]:
        """All of them."""
        return list(self._models.values())
