"""Stop sequences that the backend does not watch for."""

import pytest

from toolwire.gateway.answer.stop_watcher import StopWatcher
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    TextDelta,
    TurnEnd,
)

END = TurnEnd("length")


def passed(watcher: StopWatcher, *events: Event) -> list[Event]:
    return [out for event in events for out in watcher.feed([event])]


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    ("text", "left", "met"),
    [
        ("one STOP two", "one ", "STOP"),
        ("STOP", "", "STOP"),
        ("one STO", "one STO", ""),
        ("one STSTOP", "one ST", "STOP"),
        ("END before STOP", "", "END"),
        ("aab", "", "aab"),
        ("aaab", "a", "aab"),
        ("nothing", "nothing", ""),
    ],
)
def test_every_cut_ends_the_text_before_the_first_stop_sequence(
    text: str, left: str, met: str
) -> None:
    for cut in range(len(text) + 1):
        watcher = StopWatcher(["STOP", "END", "aab"])
        out = passed(watcher, TextDelta(text[:cut]), TextDelta(text[cut:]), END)
        assert (text_of(out), watcher.met) == (left, met), f"cut at {cut}"
        assert out[-1] == (TurnEnd("stop") if met else END)


def test_of_two_that_begin_at_the_same_place_the_longer_one_is_named() -> None:
    watcher = StopWatcher(["##", "###"])
    passed(watcher, TextDelta("a ### b"))
    assert watcher.met == "###"


def test_text_that_cannot_begin_a_stop_sequence_is_not_held() -> None:
    watcher = StopWatcher(["STOP"])
    assert passed(watcher, TextDelta("Hello S")) == [TextDelta("Hello ")]
    assert passed(watcher, TextDelta("ir")) == [TextDelta("Sir")]


def test_held_text_comes_before_what_follows_it() -> None:
    events: list[Event] = [TextDelta("S"), ReasoningDelta("Hm."), TextDelta("TOP"), END]
    assert passed(StopWatcher(["STOP"]), *events) == events


def test_a_call_that_began_before_the_end_is_kept_and_a_later_one_is_not() -> None:
    watcher = StopWatcher(["STOP"])
    first: list[Event] = [CallStart(0, "a"), ArgsDelta(0, "{}"), CallEnd(0)]
    second: list[Event] = [CallStart(1, "b"), ArgsDelta(1, "{}"), CallEnd(1)]
    out = passed(watcher, first[0], TextDelta("STOP"), *first[1:], *second, END)
    assert out == [*first, TurnEnd("stop")]
