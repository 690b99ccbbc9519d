"""Processes one backend's answer to one plan: fragments in, events out. Pure."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import msgspec

from toolwire.errors import (
    InvalidToolArguments,
    ToolChoiceUnmet,
    UncheckedToolArguments,
    UpstreamError,
)
from toolwire.formats import Trace
from toolwire.formats.detection.announced_prose import AnnouncedProse
from toolwire.formats.text_reader import TextReader
from toolwire.gateway.answer.choice import ChoicePipeline, Reading
from toolwire.gateway.answer.native import NativeReader
from toolwire.gateway.answer.stop_watcher import SURE, StopWatcher
from toolwire.gateway.answer.text_calls import TextCallReader
from toolwire.gateway.plan import Plan
from toolwire.gateway.repair.buffered_validator import BufferedValidator
from toolwire.gateway.repair.correction import correction
from toolwire.gateway.repair.costly import Allowance, CheckedCall, CostlyCall
from toolwire.gateway.repair.findings import Finding
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.trace.records import AttemptTrace
from toolwire.protocol.events import Event
from toolwire.protocol.fragments import MOST_CALLS, MOST_CHOICES, STOPPED_BY, Fragment
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.usage import TokenUsage

Send = Callable[[int, list[Event]], None]


class Attempt(msgspec.Struct, eq=False):
    """Feeds fragments to their choices, and sends the events that may go out.

    `final`: the model will not be asked again. `resumed`: the client has seen text of an earlier
    attempt, `before`.
    """

    plan: Plan
    strategy: ToolStrategy
    send: Send
    new_call_id: Callable[[], str]
    final: bool = True
    resumed: bool = False
    before: str = ""
    trace: AttemptTrace | None = None
    usage: TokenUsage | None = None
    about: dict[str, str] = {}
    repairs: set[str] = set()
    findings: list[Finding] = []
    calls: int = 0
    costly: list[CostlyCall] = []
    """The calls to validate off the event loop."""
    stopped: bool = False
    """Whether the answer is complete at a stop sequence, although the backend may go on."""
    _spoke: bool = False
    _choices: dict[int, ChoicePipeline] = {}
    """In the order of their indexes."""
    _sent: list[tuple[int, list[Event]]] = []
    _ends: list[tuple[int, list[Event]]] = []
    _allowance: Allowance = msgspec.field(default_factory=Allowance)
    _more_ids: Callable[[], str] | None = None
    _may_be_repeated: bool = False

    def __post_init__(self) -> None:
        if self.trace is not None:
            self.send = self.trace.recording(self.send)
        if not (self.final or self.plan.request.stream):
            self._may_be_repeated = self.plan.delivery == "whole"

    def feed(self, fragments: list[Fragment]) -> bool:
        """Process the fragments of one read. Return whether any events were sent."""
        sent = False
        for fragment in fragments:
            if fragment.usage is not None or fragment.about:
                self.usage = fragment.usage or self.usage
                self.about.update(fragment.about)
                if fragment.of_no_choice:
                    continue
            index = fragment.choice
            choice = self._choices.get(index) or self._open(index)
            if events := choice.feed(fragment):
                self.send(index, events)
                sent = self._spoke = True
                if self._may_be_repeated:
                    self._sent.append((index, events))
            if choice.stops is not None and choice.stops.met:
                self.about[STOPPED_BY] = choice.stops.met
                self.stopped = True
        return sent

    def finish(self, *, done: bool) -> None:
        """Process the end of the answer, as `finishing` does, without a pause."""
        for _ in self.finishing(done=done):
            pass

    def finishing(self, *, done: bool) -> Iterator[None]:
        """Process the end of the answer. If there are `costly` calls, `resolve` must follow.

        Yields between two choices, because the end of each may take long. Raises `UpstreamError` if
        the answer is incomplete. Raises `InvalidToolArguments` if a call must not be delivered; in
        that case the held events are not sent.
        """
        if not self._choices:
            raise UpstreamError("The backend's answer was empty.")
        unmet: ToolChoiceUnmet | None = None
        for number, (index, choice) in enumerate(self._choices.items()):
            if number:
                yield
            try:
                self._ends.append((index, choice.finish(done=done)))
            except ToolChoiceUnmet as error:
                unmet = unmet or error
            if choice.validator is not None:
                self.costly += choice.validator.costly
        if unmet is not None:
            if not self._leaves_out_prose():
                raise unmet
            self.repairs.add("choice_dropped:tool_choice")
        if not self.costly:
            self._conclude()

    def _leaves_out_prose(self) -> bool:
        """Whether choices without the required call are left out, of which nothing was sent: the
        model cannot be asked again, and another choice has made a call."""
        last = self.final or (self.plan.request.stream and self._spoke)
        return last and any(choice.policy.calls for choice in self._choices.values())

    def resolve(self, checked: Sequence[CheckedCall]) -> None:
        """Take the results for the `costly` calls, and end the answer as `finish` does."""
        left = list(checked)
        for index, choice in self._choices.items():
            if choice.validator is not None and (many := len(choice.validator.costly)):
                if events := choice.validator.resolve(left[:many]):
                    self._ends.append((index, events))
                del left[:many]
        self._conclude()

    def _conclude(self) -> None:
        rejected: tuple[Finding, BufferedValidator] | None = None
        for choice in self._choices.values():
            self.repairs |= choice.repairs
            self.calls += choice.policy.calls
            validator = choice.validator
            if validator is not None:
                self.findings += validator.findings
            if isinstance(validator, BufferedValidator) and validator.rejected is not None:
                rejected = rejected or (validator.rejected, validator)
        if rejected is not None:
            raise _unfit(*rejected)
        self.deliver()

    @property
    def called(self) -> bool:
        """Whether the backend has made a native call in any choice."""
        return any(choice.reading.called for choice in self._choices.values())

    @property
    def ended(self) -> bool:
        """Whether every choice that was requested is complete, although the answer has no end."""
        choices = self._choices.values()
        wanted = self.plan.request.sampling.n or 1
        return len(choices) >= wanted and all(choice.reading.ended for choice in choices)

    @property
    def resumable(self) -> bool:
        """Whether another attempt can continue although the client has seen part of this one: it
        has seen only text, and a call has started that is held back, or is still being read."""
        if len(self._choices) != 1:
            return False
        (choice,) = self._choices.values()
        validator = choice.validator
        return isinstance(validator, BufferedValidator) and (
            self.resumed or validator.holds or choice.reading.in_text_call
        )

    @property
    def seen(self) -> str:
        """The text that the client has seen, if the attempt is `resumable`."""
        if self.resumed:
            return self.before
        validators = (choice.validator for choice in self._choices.values())
        return "".join(one.lead for one in validators if isinstance(one, BufferedValidator))

    @property
    def deliverable(self) -> bool:
        """Whether the attempt may be delivered if there is no better one."""
        if self.plan.request.exact_calls or self.breaks_strict:
            return False
        validators = [choice.validator for choice in self._choices.values()]
        return not any(isinstance(v, BufferedValidator) and v.lacks_call for v in validators)

    @property
    def breaks_strict(self) -> bool:
        """Whether a call of a strict tool is invalid."""
        tools = self.plan.outgoing.tools.tools
        return any(f.tool in tools and tools[f.tool].strict for f in self.findings)

    def deliver(self, *, again: bool = False) -> None:
        """Send the held events; with `again`, also the events that were sent before."""
        if again and self.trace is not None:
            self.trace.sent.clear()
        for index, events in [*(self._sent if again else ()), *self._ends]:
            if events:  # none while a call is validated off the event loop
                self.send(index, events)

    def correction(self) -> list[ChatMessage]:
        """Return the messages that tell the model what is wrong with its rejected calls."""
        for choice in self._choices.values():  # the same one as in `_conclude`
            validator = choice.validator
            if isinstance(validator, BufferedValidator) and validator.rejected is not None:
                return correction(validator.said, validator.calls, validator.findings)
        return []

    def _open(self, index: int) -> ChoicePipeline:
        if len(self._choices) >= MOST_CHOICES:
            raise UpstreamError(f"The backend's answer has more than {MOST_CHOICES} choices.")
        plan, strategy = self.plan, self.strategy
        new_call_id = self.new_call_id if not self._choices else self._further_ids()
        native = NativeReader(plan.outgoing.tools.tools, new_call_id)
        reading: Reading = native
        opening: AnnouncedProse | None = None
        if strategy.reads_text(plan):
            make_parser = partial(_parser, strategy, plan, self.trace, index, native.repairs)
            reading = TextCallReader(native, make_parser, new_call_id, promoting=strategy.promotes)
        elif not plan.offers_tools and (
            opening := strategy.announced(plan, partial(_spans, self.trace, index), native.repairs)
        ):
            reading = TextCallReader(native, partial(_same, opening), new_call_id)
        validator = plan.validator(
            self._allowance, final=self.final, resumed=self.resumed, seen=self.before
        )
        more = plan.request.sampling.stop[SURE:]
        stops = StopWatcher(more) if more else None
        policy = plan.policy(final=self.final)
        rest = (opening, native) if opening is not None else None
        choice = self._choices[index] = ChoicePipeline(reading, policy, validator, stops, rest)
        if len(self._choices) > 1:
            self._choices = dict(sorted(self._choices.items()))
        return choice

    def _further_ids(self) -> Callable[[], str]:
        """Return the ids for calls of all choices but the first, as many as one choice may have."""
        if self._more_ids is None:
            self._more_ids = _limited(self.new_call_id)
        return self._more_ids


def _parser(
    strategy: ToolStrategy, plan: Plan, trace: AttemptTrace | None, index: int, repairs: set[str]
) -> TextReader:
    """Create the text reader. It does not reference the attempt, which avoids a cycle."""
    return strategy.parser(plan, _spans(trace, index), repairs)


def _spans(trace: AttemptTrace | None, index: int) -> Trace | None:
    return trace.format_trace(index) if trace is not None else None


def _same(reader: TextReader) -> TextReader:
    return reader


def _limited(new_call_id: Callable[[], str]) -> Callable[[], str]:
    left = iter(range(MOST_CALLS))

    def limited() -> str:
        if next(left, None) is None:
            raise UpstreamError(f"The model made more than {MOST_CALLS} calls in one answer.")
        return new_call_id()

    return limited


def _unfit(finding: Finding, validator: BufferedValidator) -> UpstreamError:
    text = f"The model's call of the tool '{finding.tool}' cannot be delivered: {finding.message}"
    if finding.code == "unchecked_tool_arguments":
        return UncheckedToolArguments(f"{text} Simplify the tool's schema.")
    hint = "Allow more tokens" if validator.cut_off else "Ask again, or simplify the tool"
    error = InvalidToolArguments(f"{text} {hint}.", code=finding.code)
    error.cut_off = validator.cut_off
    error.said = validator.said
    error.calls = tuple((call.name, call.arguments) for call in validator.calls)
    error.faults = tuple((found.index, found.code, found.message) for found in validator.findings)
    return error
