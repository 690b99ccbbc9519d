"""The models we serve, by the names clients use."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolwire.backends.pool import BackendPool
from toolwire.errors import ModelNotFound
from toolwire.gateway.strategies.selection import StrategySelector
from toolwire.gateway.token_count import TokenCounter
from toolwire.gateway.tool_limits import ToolLimiter
from toolwire.protocol.tools import ToolSet

ANY = "*"
_MOST_SHOWN = 20


def is_pattern(name: str) -> bool:
    """Whether a name stands for every name with this beginning: `claude-*`, or `*` alone."""
    return name.endswith(ANY)


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model name and the backends behind it. A pattern stands for every name that it matches,
    and `aliases` are other names, or patterns, of the same model."""

    name: str
    pool: BackendPool
    custom_tools: bool = False
    strategies: StrategySelector = field(default_factory=StrategySelector)
    tokens: TokenCounter | None = None
    """Counts what a backend does not say; None: it is estimated."""
    aliases: tuple[str, ...] = ()
    tool_limiter: ToolLimiter | None = None

    def offered(self, tools: ToolSet) -> ToolSet:
        """Those of a client's tools that the model is offered."""
        return tools if self.tool_limiter is None else self.tool_limiter.tools(tools)


class Routes:
    """Finds the model a client asks for: by its exact name, else by the longest pattern."""

    def __init__(self, models: Iterable[ServedModel]) -> None:
        self.models = list(models)
        """All of them."""
        self._named = {name: m for m in self.models for name in (m.name, *m.aliases)}
        patterns = sorted(filter(is_pattern, self._named), key=len, reverse=True)
        self._prefixes = [(name.removesuffix(ANY), self._named[name]) for name in patterns]

    def find(self, name: str) -> ServedModel:
        """The model of this name; raises `ModelNotFound`, naming those there are."""
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
        """Where a request without a model goes: to `*`, else to the first one."""
        return self._named.get(ANY) or self.models[0]

    @property
    def names(self) -> list[str]:
        """The names that can be listed."""
        return [name for name in self._named if not is_pattern(name)]

    @property
    def any(self) -> ServedModel | None:
        """The model that stands for every other name and forwards it, if there is one."""
        model = self._named.get(ANY)
        return model if model is not None and model.name == ANY else None
