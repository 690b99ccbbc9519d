"""Live and whole: what passes, what waits, what is found, and what is never delivered."""

import json
from typing import Any

import pytest
from tests.unit.gateway.fitting import toolset

from toolwire.gateway.repair.buffered_validator import BufferedValidator
from toolwire.gateway.repair.costly import Allowance
from toolwire.gateway.repair.rules import RepairRules
from toolwire.gateway.repair.streaming_validator import StreamingValidator
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    TextDelta,
    TurnEnd,
)

INTEGER = {"type": "integer"}
TOOLS = toolset(x=INTEGER)
STRICT = toolset(x=INTEGER, _strict=True)
END = TurnEnd("tool_calls")
CUT = TurnEnd("length")


def call(index: int, *pieces: str, name: str = "f", complete: bool = True) -> list[Event]:
    """The events of one call."""
    deltas = [ArgsDelta(index, piece) for piece in pieces]
    return [CallStart(index, name, f"call_{index}"), *deltas, CallEnd(index, complete)]


def live(*events: Event, tools: Any = TOOLS) -> tuple[StreamingValidator, list[Event]]:
    """What a live stage lets through, each event fed by itself."""
    validator = StreamingValidator(tools, RepairRules(), Allowance())
    return validator, [out for event in events for out in validator.feed([event])]


def whole(*events: Event, tools: Any = TOOLS, **how: Any) -> tuple[BufferedValidator, list[Event]]:
    """What a whole stage lets through."""
    validator = BufferedValidator(tools, RepairRules(), Allowance(), **{"final": False, **how})
    return validator, [out for event in events for out in validator.feed([event])]


def arguments(events: list[Event]) -> list[str]:
    """The arguments of each call that was delivered."""
    texts: dict[int, str] = {}
    for event in events:
        if isinstance(event, CallStart):
            texts[event.index] = ""
        elif isinstance(event, ArgsDelta):
            texts[event.index] += event.json
    assert list(texts) == list(range(len(texts)))
    return list(texts.values())


def test_live_events_pass_at_once_and_unchanged() -> None:
    validator = StreamingValidator(TOOLS, RepairRules(), Allowance())
    for event in [TextDelta("hm"), *call(0, '{"x"', ": 1", "}"), *call(1, "{", "}"), END]:
        assert validator.feed([event]) == [event]
    assert validator.findings == []


def test_live_a_call_that_does_not_fit_is_delivered_as_it_is_and_found() -> None:
    events = [*call(0, '{"x": "a"}'), *call(1, '{"x":', ' "5"}'), END]
    validator, out = live(*events)
    assert out == events
    assert [(f.code, f.index) for f in validator.findings] == [
        ("invalid_tool_arguments", 0),
        ("invalid_tool_arguments", 1),
    ]
    assert validator.repairs == set()


def test_live_arguments_that_do_not_begin_as_an_object_wait_and_are_repaired() -> None:
    text = json.dumps('{"x": 5}')
    validator, out = live(*call(0, text[:4], text[4:]), END)
    assert arguments(out) == ['{"x": 5}']
    assert validator.repairs == {"string_arguments"}
    assert validator.findings == []


def test_live_what_cannot_be_repaired_is_delivered_as_it_is() -> None:
    validator, out = live(*call(0, "[1,", "2]", complete=False), END)
    assert arguments(out) == ["[1,2]"]
    assert [finding.code for finding in validator.findings] == ["malformed_tool_arguments"]


def test_whole_calls_wait_for_the_end_and_text_does_not() -> None:
    validator = BufferedValidator(TOOLS, RepairRules(), Allowance(), final=False)
    events = call(0, '{"x": 1}')
    assert validator.feed([TextDelta("a"), *events, ReasoningDelta("b")]) == [
        TextDelta("a"),
        ReasoningDelta("b"),
    ]
    assert validator.feed([END]) == [*events, END]


def test_whole_a_repaired_call_is_delivered_repaired() -> None:
    validator, out = whole(*call(0, '{"x": "5"}'), END)
    assert json.loads(arguments(out)[0]) == {"x": 5}
    assert validator.repairs == {"number_from_string"}
    assert validator.rejected is None


@pytest.mark.parametrize("name", ["f", "no_such_tool"])
def test_whole_one_call_that_does_not_fit_rejects_the_turn(name: str) -> None:
    validator, _ = whole(*call(0, '{"x": 1}'), *call(1, '{"x": "a"}', name=name), END)
    assert validator.rejected is not None
    assert validator.rejected.index == 1
    assert [made.arguments for made in validator.calls] == ['{"x": 1}', '{"x": "a"}']


def test_whole_and_final_what_does_not_fit_is_delivered_as_it_is() -> None:
    validator, out = whole(*call(0, '{"x": "a"}'), END, final=True)
    assert validator.rejected is None
    assert arguments(out) == ['{"x": "a"}']
    assert [finding.label for finding in validator.findings] == ["invalid_tool_arguments:f"]


@pytest.mark.parametrize("final", [True, False])
def test_a_strict_call_that_does_not_fit_is_always_rejected(final: bool) -> None:
    validator, _ = whole(*call(0, '{"x": "a"}'), END, tools=STRICT, final=final)
    assert validator.rejected is not None


def test_a_strict_call_that_can_be_repaired_is_delivered() -> None:
    validator, out = whole(*call(0, '{"x": "5"}'), END, tools=STRICT, final=True)
    assert validator.rejected is None
    assert json.loads(arguments(out)[0]) == {"x": 5}


def test_a_call_that_was_cut_off_is_not_asked_for_again() -> None:
    validator, out = whole(*call(0, '{"x": ', complete=False), CUT)
    assert validator.rejected is None
    assert arguments(out) == ['{"x": ']
    assert out[-2:] == [CallEnd(0, complete=False), CUT]


def test_a_strict_call_that_was_cut_off_is_left_out() -> None:
    validator, out = whole(
        *call(0, '{"x": 1}'), *call(1, '{"x": ', complete=False), CUT, tools=STRICT
    )
    assert validator.rejected is None
    assert arguments(out) == ['{"x": 1}']
    assert validator.repairs == {"call_dropped:cut_off"}
    assert out[-1] == CUT


def test_the_text_of_a_second_attempt_is_left_out_if_it_makes_a_call() -> None:
    _, out = whole(TextDelta("again"), *call(0, '{"x": 1}'), END, resumed=True, final=True)
    assert not any(isinstance(event, TextDelta) for event in out)
    assert arguments(out) == ['{"x": 1}']


def test_the_text_of_a_second_attempt_is_kept_if_there_is_nothing_else() -> None:
    _, out = whole(TextDelta("I"), TextDelta(" give up"), TurnEnd("stop"), resumed=True)
    assert out == [TextDelta("\n\nI give up"), TurnEnd("stop")]


UNREAD: list[Event] = [CallStart(0, "f", "call_0"), CallEnd(0, complete=False, unread="<f>")]


@pytest.mark.parametrize(
    ("bad", "written"),
    [(call(0, "nope"), "\n\nf(nope)"), (UNREAD, "<f>")],
    ids=["native", "text"],
)
@pytest.mark.parametrize(("seen", "lead"), [("Well.", "\n\nAgain. "), ("Again.", "")])
def test_the_text_of_a_second_attempt_is_kept_if_its_call_is_text(
    bad: list[Event], written: str, seen: str, lead: str
) -> None:
    _, out = whole(TextDelta("Again. "), *bad, END, resumed=True, seen=seen, final=True)
    assert "".join(event.text for event in out if isinstance(event, TextDelta)) == lead + written
    assert out[-1] == TurnEnd("stop")


def test_custom_tools_take_any_text() -> None:
    tools = toolset(x=INTEGER)
    custom = type(tools)({"c": type(tools.tools["f"])("c", kind="custom")})
    start = CallStart(0, "c", "call_0", kind="custom")
    events = [start, ArgsDelta(0, "ls -l"), CallEnd(0), END]
    for validator, out in (live(*events, tools=custom), whole(*events, tools=custom)):
        assert out == events
        assert validator.findings == []
        assert validator.repairs == set()


CLOSED = ['"hello"', "5", "hello", '{"x": undefined}', "{'x': 1 2}"]
UNCLOSED = ['{"x": "/et', '{"x": 1', "{", '"half a str', '{"x": [1, 2}', '{"x": "a\\']


def turn_end(events: list[Event]) -> str:
    assert isinstance(events[-1], TurnEnd)
    return events[-1].reason


@pytest.mark.parametrize("text", UNCLOSED)
def test_a_call_that_is_not_closed_ends_in_length_whatever_the_backend_said(text: str) -> None:
    broken = call(0, text, complete=False)
    assert turn_end(live(*broken, END)[1]) == "length"
    assert turn_end(whole(*broken, END, final=True)[1]) == "length"


@pytest.mark.parametrize("text", [*CLOSED, *UNCLOSED])
def test_whole_arguments_that_are_no_object_are_delivered_as_text(text: str) -> None:
    validator, out = whole(*call(0, text, complete=False), END, final=True)
    assert out[0] == TextDelta(f"f({text})")
    assert arguments(out) == []
    assert [finding.code for finding in validator.findings] == ["malformed_tool_arguments"]


@pytest.mark.parametrize("text", CLOSED)
def test_a_turn_whose_only_call_became_text_just_stops(text: str) -> None:
    assert turn_end(whole(*call(0, text, complete=False), END, final=True)[1]) == "stop"
    assert turn_end(live(*call(0, text, complete=False), END)[1]) == "tool_calls"


def test_good_calls_beside_one_that_became_text_are_delivered_in_order() -> None:
    events = [*call(0, "hello", complete=False), *call(1, '{"x": 1}'), END]
    _, out = whole(TextDelta("Now."), *events, final=True)
    assert out[:2] == [TextDelta("Now."), TextDelta("\n\nf(hello)")]
    assert (arguments(out), turn_end(out)) == (['{"x": 1}'], "tool_calls")


def test_a_demanded_call_that_is_no_json_is_no_text() -> None:
    validator, _ = whole(*call(0, "hello", complete=False), END, final=True, demanded=True)
    assert validator.rejected is not None


def test_a_repaired_call_is_complete() -> None:
    _, out = whole(*call(0, "{'x': 5, 'y': 'a\"b'}", complete=False), END, final=True)
    assert turn_end(out) == "tool_calls"
