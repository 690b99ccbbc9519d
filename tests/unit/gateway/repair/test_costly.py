"""What may take long to check waits for the end of the answer, and the end for what was found."""

import json
from typing import Any

import pytest
from tests.schemas import fan
from tests.unit.gateway.fitting import toolset

from toolwire.gateway.repair.arguments import check_call
from toolwire.gateway.repair.buffered_validator import BufferedValidator
from toolwire.gateway.repair.costly import Allowance, CheckedCall, TooCostly, elsewhere, unchecked
from toolwire.gateway.repair.loops import find_loop
from toolwire.gateway.repair.rules import RepairRules
from toolwire.gateway.repair.streaming_validator import StreamingValidator
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TurnEnd
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall, ToolSet

TEXT = '{"p": "x"}'
EVENTS: list[Event] = [
    CallStart(0, "f", "call_0"),
    ArgsDelta(0, TEXT),
    CallEnd(0, complete=True),
    TurnEnd("tool_calls"),
]


def costly_tools(*, strict: bool = False) -> ToolSet:
    schema = fan("anyOf", 14)
    if strict:
        # Long texts are what makes a strict tool's check costly.
        return toolset(p={"pattern": "^[a-z]{1,300}$"}, _strict=True)
    return toolset(_defs=schema["$defs"], **schema["properties"])


def test_what_does_not_fit_is_explained_elsewhere() -> None:
    with pytest.raises(TooCostly):
        check_call(0, "f", TEXT, costly_tools(), Allowance())
    finding = check_call(0, "f", TEXT, costly_tools(), elsewhere())
    assert finding is not None
    assert "too long to list" in finding.message


def test_what_fits_is_found_to_fit_at_once() -> None:
    assert check_call(0, "f", '{"p": null}', costly_tools(), Allowance()) is None


def test_all_calls_of_an_answer_share_one_allowance() -> None:
    tools, allowance = costly_tools(), Allowance(400_000)
    assert check_call(0, "f", '{"p": null}', tools, allowance) is None
    assert check_call(1, "f", '{"p": null}', tools, allowance) is None
    with pytest.raises(TooCostly):
        check_call(2, "f", '{"p": null}', tools, allowance)


def test_a_live_call_is_delivered_at_once_and_its_finding_comes_later() -> None:
    validator = StreamingValidator(costly_tools(), RepairRules(), Allowance())
    assert validator.feed(EVENTS) == EVENTS
    (call,) = validator.costly
    assert (call.text, call.rules) == (TEXT, ())
    assert validator.resolve([unchecked(call, "it took long")]) == []
    assert [finding.label for finding in validator.findings] == ["unchecked_tool_arguments:f"]


def whole(tools: ToolSet, text: str = TEXT, *, final: bool = False) -> BufferedValidator:
    validator = BufferedValidator(tools, RepairRules(), Allowance(), final=final)
    assert validator.feed([EVENTS[0], ArgsDelta(0, text), *EVENTS[2:]]) == []
    return validator


def test_a_whole_turn_ends_when_all_is_known() -> None:
    validator = whole(costly_tools())
    assert validator.costly[0].rules == RepairRules().names
    mended = CheckedCall('{"p":null}', ("some_rule",))
    assert validator.resolve([mended]) == [EVENTS[0], ArgsDelta(0, '{"p":null}'), *EVENTS[2:]]
    assert (validator.costly, validator.rejected, validator.repairs) == ([], None, {"some_rule"})


def test_what_could_not_be_checked_is_delivered_and_not_asked_for_again() -> None:
    validator = whole(costly_tools())
    assert validator.resolve([unchecked(validator.costly[0], "it took long")]) == EVENTS
    assert validator.rejected is None
    assert len(validator.findings) == 1


@pytest.mark.parametrize("final", [False, True])
def test_but_never_for_a_strict_tool(final: bool) -> None:
    validator = whole(costly_tools(strict=True), json.dumps({"p": "x" * 3_000}), final=final)
    validator.resolve([unchecked(validator.costly[0], "it took long")])
    assert validator.rejected is not None
    assert validator.rejected.code == "unchecked_tool_arguments"


def test_a_loop_that_would_take_long_to_see_is_not_looked_for() -> None:
    turns: list[Any] = [ChatMessage("assistant", calls=(AssistantCall("c", "f", TEXT),))] * 3
    assert find_loop(turns, costly_tools(), 3) is None


def test_what_all_calls_cost_to_decode_is_limited_together() -> None:
    """Each is decoded in 2 ms, and an answer has up to a thousand."""
    tools = toolset(a={})
    text = json.dumps({"a": [1e308] * 4_000})
    allowance = Allowance()
    for index in range(4):
        assert check_call(index, "f", text, tools, allowance) is None
    with pytest.raises(TooCostly):
        check_call(4, "f", text, tools, allowance)


def test_long_text_costs_little_to_decode() -> None:
    tools, allowance = toolset(a={}), Allowance()
    for index in range(20):
        assert check_call(index, "f", json.dumps({"a": "x" * 100_000}), tools, allowance) is None
