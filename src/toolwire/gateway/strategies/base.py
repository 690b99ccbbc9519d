"""What a strategy says: what is sent, how the answer is read, and what an error means."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol, TypeAlias

from msgspec.structs import replace

from toolwire.backends.base import Outgoing
from toolwire.errors import UpstreamError
from toolwire.formats import Trace, get, parser_for
from toolwire.formats.prose import has_prose, prose_parser
from toolwire.gateway.plan import Plan
from toolwire.gateway.strategies.escape_markers import escaped
from toolwire.gateway.strategies.prose_reader import ProseReader
from toolwire.protocol.events import Event

StrategyKind: TypeAlias = Literal["native", "hybrid", "prompted", "constrained"]
Lack: TypeAlias = Literal["tools", "constraint", "union"]
"""What a backend can turn out not to have."""


class TextReader(Protocol):
    """What turns a turn's text into events."""

    def feed(self, text: str) -> list[Event]:
        """The events that the next piece of the turn makes certain."""
        ...

    def finish(self) -> list[Event]:
        """The events that only the end of the turn makes certain."""
        ...

    @property
    def idle(self) -> bool:
        """Whether nothing of what was fed may be a call, or part of a marker."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStrategy(ABC):
    """One way of giving a model tools. `marks` separate turns in a prompt that the backend writes
    itself: untrusted text cannot hold any of them."""

    kind: ClassVar[StrategyKind]
    promotes: ClassVar[bool] = False
    """Whether a call that is found in text should have been found by the backend."""

    format: str | None = None
    """How calls are read from text; None if text is only text."""
    guessed: bool = False
    """Whether nothing tells that the model writes this format."""
    marks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}:{self.format}" if self.format else self.kind

    @property
    def rewrites(self) -> bool:
        """Whether the conversation is written in other words, which takes time."""
        return bool(self.marks)

    @abstractmethod
    def outgoing(self, plan: Plan) -> Outgoing:
        """What the backend is sent."""

    def reads_text(self, plan: Plan) -> bool:
        """Whether text is read: for calls, or for what the format marks besides them."""
        if self.format is None:
            return False
        return plan.offers_tools or (not self.guessed and has_prose(self.format))

    def parser(self, plan: Plan, trace: Trace | None, repairs: set[str]) -> TextReader:
        """What reads the text of one choice."""
        if not plan.offers_tools:
            why = "tool_choice_none" if plan.request.tools.tools else "no_tools"
            return ProseReader(prose_parser(self.format or "", trace), repairs, why)
        return self._parser(plan, trace, repairs)

    def _parser(self, plan: Plan, trace: Trace | None, repairs: set[str]) -> TextReader:  # noqa: ARG002
        """What reads the text of a choice in which there may be calls."""
        tools = plan.outgoing.tools.tools.values()
        return parser_for(self.format or "", tools, delivery=plan.delivery, trace=trace)

    @abstractmethod
    def lack(self, error: UpstreamError) -> Lack | None:
        """What the backend turns out not to have, if this error says so."""

    def _escaped(self, plan: Plan) -> Outgoing:
        outgoing = plan.outgoing
        if not self.marks:
            return outgoing
        return replace(outgoing, messages=escaped(outgoing.messages, self.marks))

    def _keeps_special_tokens(self, plan: Plan) -> bool:
        """Whether the markers that are looked for are special tokens, which servers strip."""
        return (
            plan.offers_tools and self.format is not None and bool(get(self.format).special_tokens)
        )
