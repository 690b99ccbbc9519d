"""The served models, by the names that clients use."""

from collections.abc import Iterable

import msgspec

from toolwire.backends.pool import BackendPool
from toolwire.errors import ModelNotFound
from toolwire.gateway.strategies.selection import StrategySelector
from toolwire.gateway.token_count import TokenCounter
from toolwire.gateway.tool_limits import ToolLimiter
from toolwire.protocol.tools import ToolSet

ANY = "*"
_MOST_SHOWN = 20


def is_pattern(name: str) -> bool:
    """Whether a name is a prefix pattern: `claude-*`, or `*` alone."""
    return name.endswith(ANY)


class ServedModel(msgspec.Struct, frozen=True):
    """One model name and its backends. The name may be a pattern, and `aliases` are other names or
    patterns for the same model."""

    name: str
    pool: BackendPool
    custom_tools: bool = False
    strategies: StrategySelector = msgspec.field(default_factory=StrategySelector)
    tokens: TokenCounter | None = None
    """Counts tokens if a backend reports no usage; None: they are estimated."""
    aliases: tuple[str, ...] = ()
    tool_limiter: ToolLimiter | None = None

    def offered(self, tools: ToolSet) -> ToolSet:
        """Return those of a client's tools that the model is offered."""
        return tools if self.tool_limiter is None else self.tool_limiter.tools(tools)


class Routes:
    """Finds a model by its exact name, else by the longest matching pattern."""

    def __init__(self, models: Iterable[ServedModel]) -> None:
        self.models = list(models)
        """All served models."""
        self._named = {name: m for m in self.models for name in (m.name, *m.aliases)}
        patterns = sorted(filter(is_pattern, self._named), key=len, reverse=True)
        self._prefixes = [(name.removesuffix(ANY), self._named[name]) for name in patterns]

    def find(self, name: str) -> ServedModel:
        """Return the model of this name. Raises `ModelNotFound`, which lists the known names."""
        model = self._named.get(name)
        if model is not None:
            return model
        for prefix, model in self._prefixes:
            if name.startswith(prefix):
                return model
        known = ", ".join(f"'{known}'" for known in list(self._named)[:_MOST_SHOWN])
        raise ModelNotFound(
            f"The model '{name[:100]}' does not exist or you do not have access to it. "
            f"This server has: {known}."
        )

    def default(self) -> ServedModel:
        """The model for a request that names none: `*`, else the first one."""
        return self._named.get(ANY) or self.models[0]

    @property
    def names(self) -> list[str]:
        """The names to list: those that are not patterns."""
        return [name for name in self._named if not is_pattern(name)]

    @property
    def any(self) -> ServedModel | None:
        """The model that accepts and forwards any other name, if there is one."""
        model = self._named.get(ANY)
        return model if model is not None and model.name == ANY else None
