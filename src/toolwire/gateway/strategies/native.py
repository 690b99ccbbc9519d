"""Strategies that send the tools to a backend that parses calls itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from toolwire.backends.base import BackendRequest
from toolwire.errors import UpstreamError
from toolwire.gateway.observer import Lack
from toolwire.gateway.plan import Plan
from toolwire.gateway.strategies.base import StrategyKind, ToolStrategy
from toolwire.gateway.strategies.prompting import has_calls, has_system, without_system
from toolwire.gateway.strategies.refusals import refused, refuses_calls
from toolwire.protocol.requests import ChatMessage


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

    def lack(self, error: UpstreamError, messages: Sequence[ChatMessage] = ()) -> Lack | None:
        """See `ToolStrategy.lack`. Where roles must alternate, a system prompt may be the reason,
        so it comes first."""
        if refused(error, "tools"):
            return "tools"
        lack = ToolStrategy.lack(self, error)
        if not has_calls(messages) or (lack and has_system(messages)):
            return lack
        return "tools" if refuses_calls(error) else lack


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
