"""Validates calls that are delivered once the turn is complete: see `validation.py`."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from toolwire.gateway.repair.arguments import is_object
from toolwire.gateway.repair.costly import Allowance, CheckedCall, CostlyCall, TooCostly
from toolwire.gateway.repair.findings import Finding
from toolwire.gateway.repair.rules import RepairRules
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    FinishReason,
    TextDelta,
    TurnEnd,
)
from toolwire.protocol.json_boundary import is_unclosed
from toolwire.protocol.tools import AssistantCall, ToolSet

_UNREAD = "not what the format of calls requires, such as valid JSON."
_CUT_OFF = TurnEnd("length")
_CUT: tuple[FinishReason, ...] = ("length", "content_filter")


class _Held(msgspec.Struct):
    """A call that is held until the end of the turn."""

    start: CallStart
    pieces: list[str] = []
    complete: bool = True
    finding: Finding | None = None
    unread: str = ""
    """The text of a call that cannot be read."""
    cut: bool = False
    behind: list[str] = []
    """The text behind a call that cannot be read, up to the next one, which is delivered with the
    call's own text."""

    @property
    def arguments(self) -> str:
        return self.unread or "".join(self.pieces)

    @property
    def readable(self) -> bool:
        """Whether clients can decode its arguments."""
        if self.unread:
            return False
        return self.finding is None or self.start.kind == "custom" or is_object(self.arguments)

    @property
    def unclosed(self) -> bool:
        if self.unread:
            return self.cut
        return not self.complete and is_unclosed(self.arguments)

    @property
    def text(self) -> str:
        if self.unread:
            return self.unread + "".join(self.behind)
        return f"{self.start.name}({self.arguments})"

    def events(self, index: int) -> list[Event]:
        start = self.start
        if start.index != index:
            start = CallStart(index, start.name, start.call_id, start.provider_id, start.kind)
        return [start, ArgsDelta(index, self.arguments), CallEnd(index, self.complete)]


class BufferedValidator(msgspec.Struct, eq=False):
    """Holds calls until the end of the turn, then repairs and validates them.

    `final`: the model is not asked again, so an invalid call is delivered unchanged, or as text if
    it is not a JSON object; unless its tool is strict, or no other call meets a `demanded` one.
    `exact`: an invalid call is never delivered, even if it was truncated.
    `resumed`: the client has the text of an earlier attempt, `seen`, so the text of this one goes
    out only if there are no calls.
    """

    live: ClassVar[bool] = False

    tools: ToolSet
    rules: RepairRules
    allowance: Allowance
    final: bool
    resumed: bool = False
    seen: str = ""
    demanded: bool = False
    exact: bool = False
    costly: list[CostlyCall] = []
    findings: list[Finding] = []
    repairs: set[str] = set()
    rejected: Finding | None = None
    """The first finding that prevents delivery of this turn."""
    _end: TurnEnd = TurnEnd("stop")
    _calls: list[_Held] = []
    _unread: _Held | None = None
    _text: list[str] = []
    _led: int | None = None

    @property
    def holds(self) -> bool:
        """Whether a call is being held."""
        return bool(self._calls)

    @property
    def lacks_call(self) -> bool:
        """Whether a call is demanded, and clients can decode none of those that were made."""
        return self.demanded and not any(held.readable for held in self._calls)

    @property
    def said(self) -> str:
        """The text of the turn."""
        return "".join(self._text)

    @property
    def lead(self) -> str:
        """The text before the first call that cannot be read."""
        return "".join(self._text[: self._led])

    @property
    def calls(self) -> list[AssistantCall]:
        """The calls of the turn, including invalid ones."""
        return [
            AssistantCall(held.start.call_id, held.start.name, held.arguments, held.start.kind)
            for held in self._calls
        ]

    @property
    def kept(self) -> list[str] | None:
        """See `Validator.kept`."""
        return self._calls[-1].pieces if self._calls else None

    def feed(self, events: list[Event]) -> list[Event]:
        """See `Validator.feed`."""
        out: list[Event] = []
        for event in events:
            if type(event) is TextDelta:
                self._text.append(event.text)
                if self._unread is not None:
                    self._unread.behind.append(event.text)
                elif not self.resumed:
                    out.append(event)
            elif type(event) is ArgsDelta:
                self._calls[-1].pieces.append(event.json)
            elif type(event) is CallStart:
                self._calls.append(_Held(event))
            elif type(event) is CallEnd:
                if not event.complete or event.unread:
                    self._note_end(event)
            elif type(event) is TurnEnd:
                self._end = event
                for index, held in enumerate(self._calls):
                    self._repair(index, held)
                if not self.costly:
                    out += self._conclude(event.reason)
            else:
                out.append(event)
        return out

    def _note_end(self, end: CallEnd) -> None:
        """Note the end of a call that is incomplete, or cannot be read."""
        held = self._calls[-1]
        held.complete, held.unread, held.cut = end.complete, end.unread, end.cut
        if held.unread:
            self._led = len(self._text) if self._led is None else self._led
            self._unread = held

    def resolve(self, checked: Sequence[CheckedCall]) -> list[Event]:
        """See `Validator.resolve`."""
        for call, known in zip(self.costly, checked, strict=True):
            self._apply(self._calls[call.index], known)
        self.costly = []
        return self._conclude(self._end.reason)

    def _conclude(self, reason: FinishReason) -> list[Event]:
        """End the turn: deliver its calls, or set `rejected`."""
        out: list[Event] = []
        for held in self._calls:
            if held.finding is not None or not held.complete:
                return self._conclude_invalid(reason)
        if not self._calls:
            self._add_lead(out)
        for index, held in enumerate(self._calls):
            out += held.events(index)
        out.append(self._end)
        return out

    def _conclude_invalid(self, reason: FinishReason) -> list[Event]:
        """End a turn in which a call is invalid or incomplete."""
        out: list[Event] = []
        kept, cut = self._calls, reason in _CUT
        if any(held.finding is not None for held in kept):
            kept = self._select(cut_off=cut)
        # A truncated call goes out as far as it got, as on every backend.
        made = [held for held in kept if not held.unread and (cut or held.readable)]
        said = [held.text for held in kept if not (cut or held.unread or held.readable)]
        if not made:
            self._add_lead(out)
        if said:
            out.append(TextDelta("\n\n".join(["", *said] if self._text else said)))
        out += [TextDelta(held.text) for held in kept if held.unread]
        for index, held in enumerate(made):
            out += held.events(index)
        return [*out, self._ending(made, kept)]

    def _add_lead(self, out: list[Event]) -> None:
        """Send the text that was held back because of an earlier attempt, if it is another one."""
        lead = self.lead if self.resumed else ""
        if lead and lead.strip() != self.seen.strip():
            out.append(TextDelta("\n\n" + lead))

    def _ending(self, made: list[_Held], kept: list[_Held]) -> TurnEnd:
        if self._end.reason != "tool_calls":
            return self._end
        if any(held.unclosed for held in kept):
            return _CUT_OFF
        return self._end if made or not kept else TurnEnd("stop")

    def _repair(self, index: int, held: _Held) -> None:
        name, text = held.start.name, held.arguments
        if held.unread:
            held.finding = Finding("malformed_tool_arguments", index, name, _UNREAD)
            return
        try:
            self._apply(held, self.rules.repair(index, name, text, self.tools, self.allowance))
        except TooCostly:
            tool = self.tools.tools[name]
            self.costly.append(CostlyCall(index, tool, text, self.rules.names))

    def _apply(self, held: _Held, checked: CheckedCall) -> None:
        if checked.finding is not None:
            held.finding = checked.finding
        if checked.repairs:
            held.pieces = [checked.arguments]
            held.complete = True
            self.repairs.update(checked.repairs)

    @property
    def cut_off(self) -> bool:
        """Whether the answer was truncated: asking again does not help."""
        return self._end.reason in _CUT

    def _select(self, *, cut_off: bool) -> list[_Held]:
        """Return the calls to deliver if some are invalid, or set `rejected`."""
        if self.exact:
            self.findings = [held.finding for held in self._calls if held.finding is not None]
            self.rejected = self.findings[0]
            return []
        kept = [
            held
            for held in self._calls
            if held.unread or not (cut_off and self._is_strict(held.finding))
        ]
        if len(kept) < len(self._calls):
            self.repairs.add("call_dropped:cut_off")
        unfit = [held.finding for held in kept if held.finding is not None]
        self.findings += unfit
        if not cut_off:
            self.rejected = next((f for f in unfit if self._is_fatal(f)), None)
            if self.lacks_call:
                self.rejected = self.rejected or unfit[0]
        return kept

    def _is_fatal(self, finding: Finding) -> bool:
        """Whether this finding prevents delivery. An unchecked call prevents it only if its tool
        is strict: asking again does not help if it is unknown what is wrong."""
        is_known = finding.code != "unchecked_tool_arguments"
        return (is_known and not self.final) or self._is_strict(finding)

    def _is_strict(self, finding: Finding | None) -> bool:
        tool = self.tools.tools.get(finding.tool) if finding else None
        return tool is not None and tool.strict
