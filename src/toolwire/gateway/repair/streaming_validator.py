"""Validates calls that are delivered while they are written: see `validation.py`."""

from collections.abc import Sequence
from typing import ClassVar

from toolwire.gateway.repair.arguments import check_call
from toolwire.gateway.repair.costly import Allowance, CheckedCall, CostlyCall, TooCostly
from toolwire.gateway.repair.findings import Finding
from toolwire.gateway.repair.rules import RepairRules
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TurnEnd
from toolwire.protocol.json_boundary import is_unclosed
from toolwire.protocol.tools import ToolSet

_NO_CALL = CallStart(0, "")
_CUT_OFF = TurnEnd("length")


class StreamingValidator:
    """Validates calls that are delivered while they are written.

    Arguments that do not start like an object are held, because clients cannot decode them. Only
    these can still be repaired.
    """

    live: ClassVar[bool] = True
    """Arguments go out as they arrive."""

    def __init__(self, tools: ToolSet, rules: RepairRules, allowance: Allowance) -> None:
        self.findings: list[Finding] = []
        self.repairs: set[str] = set()
        self.costly: list[CostlyCall] = []
        self._allowance = allowance
        self._tools = tools
        self._rules = rules
        self._call = _NO_CALL
        self._pieces: list[str] = []
        self._passing = False
        self._other = False
        self._cut = False

    @property
    def kept(self) -> list[str] | None:
        """See `Validator.kept`."""
        return self._pieces if self._passing else None

    def feed(self, events: list[Event]) -> list[Event]:
        """See `Validator.feed`."""
        out: list[Event] = []
        for event in events:
            if type(event) is ArgsDelta:
                self._arguments(event, out)
            elif type(event) is CallEnd:
                self._end(event, out)
            else:
                if type(event) is CallStart:
                    self._call, self._pieces = event, []
                    self._passing = self._other = False
                cut = self._cut and type(event) is TurnEnd and event.reason == "tool_calls"
                out.append(_CUT_OFF if cut else event)
        return out

    def _arguments(self, event: ArgsDelta, out: list[Event]) -> None:
        self._pieces.append(event.json)
        if self._passing:
            out.append(event)
            return
        if self._other:
            return  # it has begun with something else than an object
        begun = "".join(self._pieces)
        first = begun.lstrip()[:1]
        self._other = first not in ("", "{") and self._call.kind != "custom"
        if first == "{" or self._call.kind == "custom":
            self._passing = True
            out.append(ArgsDelta(event.index, begun))

    def _end(self, event: CallEnd, out: list[Event]) -> None:
        name, text = self._call.name, "".join(self._pieces)
        finding = None
        try:
            if self._passing:
                finding = check_call(event.index, name, text, self._tools, self._allowance)
            else:
                text, finding = self._repaired(event.index, name, text)
        except TooCostly:  # a repair would require validation now
            self.costly.append(CostlyCall(event.index, self._tools.tools[name], text))
        if not self._passing:
            out.append(ArgsDelta(event.index, text))
        if finding is not None:
            self.findings.append(finding)
        self._cut = self._cut or (not event.complete and is_unclosed(text))
        out.append(event)

    def _repaired(self, index: int, name: str, text: str) -> tuple[str, Finding | None]:
        checked = self._rules.repair(index, name, text, self._tools, self._allowance)
        self.repairs.update(checked.repairs)
        return checked.arguments, checked.finding

    def resolve(self, checked: Sequence[CheckedCall]) -> list[Event]:
        """See `Validator.resolve`. Everything has been delivered already."""
        self.costly = []
        self.findings += [known.finding for known in checked if known.finding is not None]
        return []
