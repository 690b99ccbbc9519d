"""Limits the cost of validation on the event loop, and defers costly calls to another process.

jsonschema-rs blocks the process while it runs. `SchemaCost` gives an upper bound on the cost of
validating arguments beforehand, so each answer has a fixed allowance on the event loop.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from toolwire.gateway.repair.findings import Finding
from toolwire.protocol.json_limits import exceeds
from toolwire.protocol.json_numbers import count_exponents
from toolwire.protocol.schemas.cost import CEILING, CHEAP, SchemaCost
from toolwire.protocol.tools import ToolSpec

_CHARACTERS = 8
"""Characters that are decoded in one unit."""
_NESTED = 2
"""Units to see how deep an object or array is."""
_REPAIR = 1000
_REPAIR_CHARACTER = 4
"""Units to try every repair, and for each character."""
_PLENTY = 250_000
"""Units left above which cheap calls need no exact cost."""
_EXPONENT = 25
"""Units to decode a number with an exponent."""


class TooCostly(Exception):
    """The work exceeds the allowance."""


class Allowance:
    """What the calls of one answer may still cost, in units of `SchemaCost`.

    Describing errors takes a thousand times as long as detecting them. `last`: there is no other
    process to defer to, so errors that are too costly to describe are not described.
    """

    __slots__ = ("_last", "_units", "_visits")

    def __init__(self, units: int = 500_000, visits: int = 1_000, *, last: bool = False) -> None:
        self._units = units
        self._visits = visits
        self._last = last

    def spend(self, cost: SchemaCost | None, text: str) -> None:
        """Spend the cost of validating `text`. Raises `TooCostly`."""
        if cost is None:
            return
        if len(text) <= cost.short and self._units > _PLENTY:
            # Nearly every call. To work out its exact cost takes longer than to validate it.
            values = text.count(",") + text.count("{") + text.count("[") + 1
            if values <= cost.few and "\\u" not in text:
                self._units -= CHEAP
                return
        units = cost.units_of(text)
        if units > self._units:
            raise TooCostly
        self._units -= units

    def read(self, text: str) -> None:
        """Spend the cost of decoding `text`. Raises `TooCostly`."""
        nested = text.count("]") + text.count("}")  # what is not closed is not JSON
        self._units -= len(text) // _CHARACTERS + _NESTED * nested
        exponents = count_exponents(text)
        if exponents * _EXPONENT > self._units:
            raw, most = text.encode(errors="replace"), self._units // _EXPONENT
            if self._units < 0 or exceeds(raw, most, count_exponents):
                raise TooCostly
            exponents = 0  # they are in strings
        self._units -= exponents * _EXPONENT

    def repair(self, text: str) -> None:
        """Spend the cost of trying to repair `text`. Raises `TooCostly`."""
        self._units -= _REPAIR + _REPAIR_CHARACTER * len(text)
        if self._units < 0:
            raise TooCostly

    def explains(self, cost: SchemaCost | None, text: str) -> bool:
        """Whether the errors in `text` can be described. Raises `TooCostly`."""
        visits = cost.visits_of(text) if cost is not None else 0
        if visits > self._visits and not self._last:
            raise TooCostly
        explained = visits <= self._visits
        self._visits -= visits if explained else 0
        return explained


def elsewhere() -> Allowance:
    """Return the allowance of a worker process, which blocks nothing and can be killed."""
    return Allowance(2 * CEILING, 20_000, last=True)


class CostlyCall(msgspec.Struct, frozen=True):
    """A call to validate in another process, and to repair with these rules."""

    index: int
    tool: ToolSpec
    text: str
    rules: tuple[str, ...] = ()


class CheckedCall(msgspec.Struct, frozen=True):
    """A call's arguments to deliver, the repairs made, and what is still wrong."""

    arguments: str
    repairs: tuple[str, ...] = ()
    finding: Finding | None = None


class Checker(Protocol):
    """Validates calls in another process."""

    async def check(self, calls: Sequence[CostlyCall]) -> list[CheckedCall]:
        """Return a result for each call. One that took too long is `unchecked`."""
        ...


def unchecked(call: CostlyCall, why: str) -> CheckedCall:
    """Return the result for a call that could not be validated."""
    name = call.tool.name
    text = f"its arguments could not be checked against the schema of '{name}': {why}."
    return CheckedCall(
        call.text, finding=Finding("unchecked_tool_arguments", call.index, name, text)
    )
