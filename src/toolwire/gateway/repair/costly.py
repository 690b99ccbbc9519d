"""What of checking calls is not done where others wait: it is put off, and done elsewhere.

jsonschema-rs lets nobody else run while it works. What arguments can cost at most is known before
they are checked (`SchemaCost`), so all that an answer may take here is counted out beforehand.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from toolwire.gateway.repair.findings import Finding
from toolwire.protocol.schemas.cost import CEILING, SchemaCost
from toolwire.protocol.tools import Tool


class TooCostly(Exception):
    """This is not to be done here."""


class Allowance:
    """What the calls of one answer may still cost, in the terms of `SchemaCost`.

    To say what is wrong takes a thousand times as long as to see that something is. `last`: there
    is nobody else to ask, so what is too costly to say is not said.
    """

    __slots__ = ("_last", "_units", "_visits")

    def __init__(self, units: int = 500_000, visits: int = 1_000, *, last: bool = False) -> None:
        self._units = units
        self._visits = visits
        self._last = last

    def check(self, cost: SchemaCost | None, text: str) -> int:
        """Take what it costs to check `text`, and say in how many visits. Raises `TooCostly`."""
        units, visits = cost.of(text) if cost is not None else (0, 0)
        if units > self._units:
            raise TooCostly
        self._units -= units
        return visits

    def explains(self, visits: int) -> bool:
        """Whether it can be said what is wrong after so many. Raises `TooCostly`."""
        if visits > self._visits and not self._last:
            raise TooCostly
        explained = visits <= self._visits
        self._visits -= visits if explained else 0
        return explained


def elsewhere() -> Allowance:
    """What may be done where nobody waits, and whoever does it can be ended."""
    return Allowance(2 * CEILING, 20_000, last=True)


class CostlyCall(msgspec.Struct, frozen=True):
    """A call that is to be checked elsewhere, and repaired by these rules."""

    index: int
    tool: Tool
    text: str
    rules: tuple[str, ...] = ()


class CheckedCall(msgspec.Struct, frozen=True):
    """A call's arguments as they are to be delivered, what was repaired, what is still wrong."""

    arguments: str
    repairs: tuple[str, ...] = ()
    finding: Finding | None = None


class Checker(Protocol):
    """Checks calls elsewhere."""

    async def check(self, calls: Sequence[CostlyCall]) -> list[CheckedCall]:
        """Each of them, as far as it could be checked in time; see `unchecked`."""
        ...


def unchecked(call: CostlyCall, why: str) -> CheckedCall:
    """A call that nobody knows whether it fits."""
    name = call.tool.name
    text = f"its arguments could not be checked against the schema of '{name}': {why}."
    return CheckedCall(
        call.text, finding=Finding("unchecked_tool_arguments", call.index, name, text)
    )
