"""The interface of a strategy: what is sent, how the answer is read, what an error means."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, TypeAlias

from msgspec.structs import replace

from toolwire.backends.base import BackendRequest
from toolwire.errors import UpstreamError
from toolwire.formats import Delivery, Detection, Format, OutputDetector, Parser, Trace, get
from toolwire.formats.detection.announced_prose import AnnouncedProse
from toolwire.formats.detection.announcements import AnswerBeginning
from toolwire.formats.detection.detecting_reader import DetectingReader
from toolwire.formats.prose import has_prose, prose_parser
from toolwire.formats.text_reader import MarkedReader, PlainText, TextReader
from toolwire.gateway.observer import Lack
from toolwire.gateway.plan import Plan
from toolwire.gateway.strategies.escape_markers import escaped
from toolwire.gateway.strategies.prose_reader import ProseReader
from toolwire.gateway.strategies.refusals import refused
from toolwire.protocol.requests import ChatMessage

StrategyKind: TypeAlias = Literal["native", "hybrid", "prompted", "constrained"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStrategy(ABC):
    """One way of giving a model tools. `marks` separate turns in a prompt that the backend renders;
    they are escaped in untrusted text."""

    kind: ClassVar[StrategyKind]
    promotes: ClassVar[bool] = False
    """Whether the backend should have found a call that is found in text."""

    format: str | None = None
    """The format of calls in text; None if text is parsed only for calls that are demanded."""
    guessed: bool = False
    """Whether the format is a guess."""
    marks: tuple[str, ...] = ()
    system_role: bool = True
    """Whether the model has a system role; else system prompts go into the first user message."""
    unproven: bool = field(default=False, compare=False)
    """Whether the backend is sent the tools but has never made a native call."""
    watch: Callable[[Detection | None], None] | None = field(default=None, compare=False)
    """Receives the format of calls while it is uncertain: see `detecting`."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.format}" if self.format else self.kind

    @property
    def rewrites(self) -> bool:
        """Whether the strategy rewrites the conversation, which takes time."""
        return bool(self.marks) or not self.system_role

    @abstractmethod
    def outgoing(self, plan: Plan) -> BackendRequest:
        """Return what the backend is sent."""

    def reads_text(self, plan: Plan) -> bool:
        """Whether text is parsed: for calls, or for other markup of the format."""
        if self.format is None:
            return plan.demands_call
        return plan.offers_tools or (not self.guessed and has_prose(self.format))

    def announced(
        self, plan: Plan, trace: Callable[[], Trace | None], repairs: set[str]
    ) -> AnnouncedProse | None:
        """Create the reader that finds out whether an answer without tools announces its format;
        None if the format is known. `trace` is made once it does."""
        if not self.guessed or self.watch is None:
            return None

        def prose(record: Format) -> TextReader:
            return ProseReader(prose_parser(record.name, trace()), repairs, _dropped(plan))

        return AnnouncedProse(prose, partial(_settled, self.watch, repairs))

    def parser(self, plan: Plan, trace: Trace | None, repairs: set[str]) -> TextReader:
        """Create the reader for the text of one choice."""
        if not plan.offers_tools:
            return ProseReader(prose_parser(self.format or "", trace), repairs, _dropped(plan))
        return self._parser(plan, trace, repairs)

    def _parser(self, plan: Plan, trace: Trace | None, repairs: set[str]) -> TextReader:
        """Create the reader for text that may contain calls."""
        tools = plan.outgoing.tools.tools.values()
        delivery: Delivery = "live" if plan.delivery == "live" else "reported"
        if self.format is None:
            detector = OutputDetector(tools, fences=True, only_start=True, delivery=delivery)
            return DetectingReader(PlainText(), detector, partial(_settled, None, repairs), trace)
        make = partial(Parser, tools=tuple(tools), delivery=delivery, trace=trace)
        record = get(self.format)
        parser = make(record)
        watch, fences = self.watch, self._fences(plan)
        if watch is None and not fences:
            return parser
        detector = OutputDetector(
            tools, fences=fences, only_fences=watch is None, delivery=delivery
        )
        opening: AnswerBeginning[MarkedReader] | None = None
        if watch is not None:
            opening = AnswerBeginning(record, make)
        return DetectingReader(parser, detector, partial(_settled, watch, repairs), trace, opening)

    def _fences(self, plan: Plan) -> bool:
        """Whether calls in code fences count if the answer contains nothing else."""
        return self.unproven or plan.demands_call

    def lack(
        self,
        error: UpstreamError,
        messages: Sequence[ChatMessage] = (),  # noqa: ARG002
    ) -> Lack | None:
        """Return the feature that the backend lacks, if this error shows it. `messages`: the
        conversation of the turn."""
        return refused(error, "system") if self.system_role else None

    def _escaped(self, plan: Plan) -> BackendRequest:
        outgoing = plan.outgoing
        if not self.marks:
            return outgoing
        return replace(outgoing, messages=escaped(outgoing.messages, self.marks))

    def _keeps_special_tokens(self, plan: Plan) -> bool:
        """Whether the format's markers are special tokens, which servers strip."""
        return (
            plan.offers_tools and self.format is not None and bool(get(self.format).special_tokens)
        )


def _dropped(plan: Plan) -> str:
    """Return why a call is dropped where nothing may be called."""
    return "tool_choice_none" if plan.request.tools.tools else "no_tools"


def _settled(
    watch: Callable[[Detection | None], None] | None, repairs: set[str], found: Detection | None
) -> None:
    """Report the format of a turn's calls; None: the expected one."""
    if found is not None:
        repairs.add(f"format_detected:{found.format}")
    if watch is not None:
        watch(found)
