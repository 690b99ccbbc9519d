"""Strategies that send the tools to a backend that parses calls itself."""

from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from toolwire.backends.base import BackendRequest
from toolwire.errors import UpstreamError
from toolwire.gateway.observer import Lack
from toolwire.gateway.plan import Plan
from toolwire.gateway.strategies.base import StrategyKind, ToolStrategy
from toolwire.gateway.strategies.prompting import without_system
from toolwire.gateway.strategies.refusals import refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Native(ToolStrategy):
    """Native tools. Text is parsed for calls only if one is demanded, and the answer would be
    useless without it."""

    kind: ClassVar[StrategyKind] = "native"
    promotes: ClassVar[bool] = True

    def outgoing(self, plan: Plan) -> BackendRequest:
        """See `ToolStrategy.outgoing`."""
        outgoing = self._escaped(plan)
        if self.system_role:
            return outgoing
        return replace(outgoing, messages=without_system(outgoing.messages))

    def lack(self, error: UpstreamError) -> Lack | None:
        """See `ToolStrategy.lack`."""
        return refused(error, "tools") or ToolStrategy.lack(self, error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid(Native):
    """Native tools, and text is parsed for calls that the backend missed."""

    kind: ClassVar[StrategyKind] = "hybrid"

    def outgoing(self, plan: Plan) -> BackendRequest:
        """See `ToolStrategy.outgoing`."""
        outgoing = Native.outgoing(self, plan)
        if not self._keeps_special_tokens(plan):
            return outgoing
        return replace(outgoing, keep_special_tokens=True)


NATIVE = Native()
