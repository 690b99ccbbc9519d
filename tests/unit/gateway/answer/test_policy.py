"""What the client allowed, on the events: which calls may go out, and as what the turn ends."""

import pytest

from toolwire.errors import Place, ToolChoiceUnmet
from toolwire.gateway.answer.policy import Policy
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    Extra,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    TurnEnd,
)
from toolwire.protocol.tools import ToolChoice

AUTO = ToolChoice()


def call(index: int, name: str) -> list[Event]:
    return [
        CallStart(index, name, f"call_{name}{index}"),
        ArgsDelta(index, "{"),
        ArgsDelta(index, "}"),
        CallEnd(index),
    ]


def turn(*names: str, text: str = "", reason: FinishReason = "stop") -> list[Event]:
    """A turn of text and calls."""
    events: list[Event] = [TextDelta(text)] if text else []
    for index, name in enumerate(names):
        events += call(index, name)
    return [*events, TurnEnd(reason)]


def passed(policy: Policy, events: list[Event]) -> list[Event]:
    """Fed one by one, which must make no difference."""
    return [out for event in events for out in policy.feed([event])]


def names(events: list[Event]) -> list[str]:
    return [event.name for event in events if isinstance(event, CallStart)]


def test_a_tool_may_be_called_by_another_name_that_only_it_can_mean() -> None:
    policy = Policy(AUTO, parallel=True, tools=["mcp__get"], aliases={"get": "mcp__get"})
    assert names(passed(policy, turn("get"))) == ["mcp__get"]
    assert policy.repairs == {"tool_name_resolved"}


@pytest.mark.parametrize(
    ("choice", "parallel", "made", "kept", "repairs"),
    [
        (AUTO, True, "fg", "fg", set()),
        (AUTO, False, "fg", "f", {"call_dropped:parallel_tool_calls_false"}),
        (AUTO, False, "f", "f", set()),
        (ToolChoice("none"), True, "fg", "", {"call_dropped:tool_choice_none"}),
        (ToolChoice("none"), True, "", "", set()),
        (ToolChoice("required"), True, "fg", "fg", set()),
        (ToolChoice("auto", frozenset("g")), True, "fgf", "g", {"call_dropped:tool_not_allowed"}),
        (ToolChoice("auto", frozenset("gh")), True, "hfg", "hg", {"call_dropped:tool_not_allowed"}),
        (ToolChoice("required", frozenset("g"), named=True), True, "fgg", "gg",
         {"call_dropped:tool_not_allowed"}),
        (ToolChoice("auto", frozenset("g")), False, "fgg", "g",
         {"call_dropped:tool_not_allowed", "call_dropped:parallel_tool_calls_false"}),
    ],
)  # fmt: skip
def test_only_what_was_allowed_goes_out(
    choice: ToolChoice, parallel: bool, made: str, kept: str, repairs: set[str]
) -> None:
    policy = Policy(choice, parallel=parallel)
    out = passed(policy, turn(*made))
    assert names(out) == list(kept)
    assert policy.calls == len(kept)
    assert policy.repairs == repairs
    assert out[-1] == TurnEnd("tool_calls" if kept else "stop")


def test_what_goes_out_is_numbered_anew() -> None:
    policy = Policy(ToolChoice("auto", frozenset("g")), parallel=True)
    assert passed(policy, turn("f", "g", "f", "g")) == [
        *(CallStart(0, "g", "call_g1"), ArgsDelta(0, "{"), ArgsDelta(0, "}"), CallEnd(0)),
        *(CallStart(1, "g", "call_g3"), ArgsDelta(1, "{"), ArgsDelta(1, "}"), CallEnd(1)),
        TurnEnd("tool_calls"),
    ]


def test_the_first_call_is_kept_and_not_the_last() -> None:
    out = passed(Policy(AUTO, parallel=False), turn("g", "f"))
    assert names(out) == ["g"]


def test_a_call_that_was_cut_off_stays_so() -> None:
    events: list[Event] = [CallStart(0, "f"), CallEnd(0, complete=False), TurnEnd("length")]
    assert passed(Policy(AUTO, parallel=True), events) == events


@pytest.mark.parametrize(
    ("made", "reason", "end"),
    [
        ("f", "stop", "tool_calls"),
        ("f", "tool_calls", "tool_calls"),
        ("", "tool_calls", "stop"),
        ("", "stop", "stop"),
        ("f", "length", "length"),
        ("", "length", "length"),
        ("f", "content_filter", "content_filter"),
    ],
)
def test_the_end_fits_what_went_out(made: str, reason: FinishReason, end: FinishReason) -> None:
    out = passed(Policy(AUTO, parallel=True), turn(*made, reason=reason))
    assert out[-1] == TurnEnd(end)


class TestDemands:
    @pytest.mark.parametrize(
        "choice",
        [
            ToolChoice("required"),
            ToolChoice("required", frozenset("g")),
            ToolChoice("required", frozenset("g"), named=True),
        ],
    )
    def test_a_demand_that_is_not_met_is_an_error(self, choice: ToolChoice) -> None:
        made = () if choice.allowed is None else ("f",)
        with pytest.raises(ToolChoiceUnmet) as caught:
            passed(Policy(choice, parallel=True), turn(*made, text="No."))
        assert (caught.value.status, caught.value.place) == (502, Place("tool_choice"))
        assert caught.value.called is bool(made)

    @pytest.mark.parametrize("reason", ["length", "content_filter"])
    def test_an_answer_that_was_cut_off_is_not_blamed(self, reason: FinishReason) -> None:
        out = passed(Policy(ToolChoice("required"), parallel=True), turn(text="L", reason=reason))
        assert out == [TextDelta("L"), TurnEnd(reason)]

    def test_long_prose_that_was_cut_off_is_no_beginning_of_a_call(self) -> None:
        policy = Policy(ToolChoice("required"), parallel=True, final=False)
        with pytest.raises(ToolChoiceUnmet) as caught:
            passed(policy, turn(text="Well, " * 1000, reason="length"))
        assert caught.value.said == ("Well, " * 1000)[:400]

    @pytest.mark.parametrize(("text", "final"), [("L" * 399, False), ("L" * 9999, True)])
    def test_a_short_beginning_and_the_last_attempt_are_delivered_as_they_are(
        self, text: str, final: bool
    ) -> None:
        policy = Policy(ToolChoice("required"), parallel=True, final=final)
        assert passed(policy, turn(text=text, reason="length"))[-1] == TurnEnd("length")

    @pytest.mark.parametrize("opener", ['<tool_call>\n{"name": "f", "', "<tool_call>f\n", "f\n{"])
    def test_a_call_that_was_cut_off_is_not_taken_for_prose(self, opener: str) -> None:
        policy = Policy(ToolChoice("required"), parallel=True, tools=("f",), final=False)
        events = turn(text=opener + "word " * 200, reason="length")
        assert passed(policy, events)[-1] == TurnEnd("length")

    def test_prose_with_the_name_of_a_tool_as_a_word_is_prose(self) -> None:
        policy = Policy(ToolChoice("required"), parallel=True, tools=("now",), final=False)
        with pytest.raises(ToolChoiceUnmet):
            passed(policy, turn(text="I know it now. " * 200, reason="length"))

    def test_a_demand_that_is_met_loses_none_of_the_text(self) -> None:
        out = passed(Policy(ToolChoice("required"), parallel=True), turn("f", text="Let me see."))
        assert out[0] == TextDelta("Let me see.")
        assert names(out) == ["f"]


class TestWhiteSpace:
    def test_before_text_it_is_text(self) -> None:
        events: list[Event] = [TextDelta("\n"), TextDelta(" "), TextDelta("Hi"), TurnEnd("stop")]
        assert passed(Policy(AUTO, parallel=True), events) == events

    def test_after_text_it_is_text(self) -> None:
        events: list[Event] = [TextDelta("Hi"), TextDelta("\n"), *call(0, "f"), TurnEnd("stop")]
        out = passed(Policy(AUTO, parallel=True), events)
        assert out[:2] == [TextDelta("Hi"), TextDelta("\n")]

    def test_beside_calls_it_is_nothing(self) -> None:
        events = [TextDelta("\n\n"), *call(0, "f"), TextDelta(" "), TurnEnd("stop")]
        out = passed(Policy(AUTO, parallel=True), events)
        assert not any(isinstance(event, TextDelta) for event in out)

    def test_alone_it_is_the_answer(self) -> None:
        events: list[Event] = [TextDelta("\n"), TurnEnd("stop")]
        assert passed(Policy(AUTO, parallel=True), events) == events

    def test_beside_a_call_that_was_left_out_it_is_the_answer(self) -> None:
        events = [TextDelta("\n"), *call(0, "f"), TurnEnd("stop")]
        out = passed(Policy(ToolChoice("none"), parallel=True), events)
        assert out == [TextDelta("\n"), TurnEnd("stop")]

    def test_between_calls_and_text_it_comes_with_the_text(self) -> None:
        events = [*call(0, "f"), TextDelta("\n"), TextDelta("Done."), TurnEnd("stop")]
        out = passed(Policy(AUTO, parallel=True), events)
        assert out[-3:] == [TextDelta("\n"), TextDelta("Done."), TurnEnd("tool_calls")]


def test_all_else_goes_through() -> None:
    events: list[Event] = [ReasoningDelta("hm"), Extra("refusal", b'"x"')]
    assert passed(Policy(ToolChoice("none"), parallel=False), events) == events
