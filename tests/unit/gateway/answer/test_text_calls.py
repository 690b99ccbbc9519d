"""Calls found in text and native calls come out of one place, numbered together."""

import json
from collections.abc import Iterable
from functools import partial
from itertools import count
from typing import Any

import pytest

from toolwire.errors import UpstreamError
from toolwire.formats import join, parser_for
from toolwire.gateway.answer.native import NativeReader
from toolwire.gateway.answer.text_calls import TextCallReader
from toolwire.protocol.events import (
    ArgsDelta,
    CallEnd,
    CallStart,
    Event,
    ReasoningDelta,
    TextDelta,
    TurnEnd,
)
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.tools import ToolSpec

TOOLS = {"f": ToolSpec("f"), "g": ToolSpec("g")}
CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
STOP = Fragment(finish="stop")


def watched(*, delivery: Any = "live", promoting: bool = True) -> TextCallReader:
    numbers = count()

    def new_id() -> str:
        return f"call_{next(numbers)}"

    native = NativeReader(TOOLS, new_id)
    make_parser = partial(parser_for, "hermes", TOOLS.values(), delivery=delivery)
    return TextCallReader(native, make_parser, new_id, promoting=promoting)


def said(*texts: str) -> list[Fragment]:
    return [Fragment(text=text) for text in texts]


def native(name: str, arguments: str, index: int = 0) -> Fragment:
    return Fragment(calls=(CallFragment(index, f"id{index}", name, arguments),))


def run(turn: TextCallReader, fragments: Iterable[Fragment]) -> list[Event]:
    events = [event for fragment in fragments for event in turn.feed(fragment)]
    return [*events, *turn.finish(done=True)]


def calls_of(events: list[Event]) -> list[tuple[str, Any]]:
    """The calls, after a check that they never overlap and are numbered without a gap."""
    open_call, started = None, 0
    for event in events:
        if isinstance(event, CallStart):
            assert (open_call, event.index) == (None, started)
            assert event.call_id
            open_call, started = event.index, started + 1
        elif isinstance(event, ArgsDelta):
            assert event.index == open_call
        elif isinstance(event, CallEnd):
            assert event.index == open_call
            open_call = None
    assert open_call is None
    assert isinstance(events[-1], TurnEnd)
    return [(call.name, json.loads(call.arguments)) for call in join(events).calls]


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def test_text_without_a_call_passes_through_at_once() -> None:
    turn = watched()
    assert turn.feed(Fragment(text="Hello, ")) == [TextDelta("Hello, ")]
    assert run(turn, [*said("world."), STOP]) == [TextDelta("world."), TurnEnd("stop")]
    assert turn.repairs == set()


def test_a_call_in_the_text_becomes_a_call() -> None:
    turn = watched()
    events = run(turn, [*said("So:\n", CALL), STOP])
    assert calls_of(events) == [("f", {"a": 1})]
    assert text_of(events) == "So:\n"
    assert turn.repairs == {"call_promoted_from_text"}


def test_a_call_that_the_prompt_asked_for_is_no_repair() -> None:
    turn = watched(promoting=False)
    assert calls_of(run(turn, [*said(CALL), STOP])) == [("f", {"a": 1})]
    assert turn.repairs == set()


def test_calls_are_the_same_however_the_text_is_cut() -> None:
    whole = calls_of(run(watched(), [*said(f"So: {CALL}{CALL}"), STOP]))
    letters = calls_of(run(watched(), [*said(*f"So: {CALL}{CALL}"), STOP]))
    assert whole == letters == [("f", {"a": 1})] * 2


def test_native_calls_pass_and_are_no_repair() -> None:
    turn = watched()
    events = run(turn, [native("f", "{}"), native("g", '{"b":2}', 1), STOP])
    assert calls_of(events) == [("f", {}), ("g", {"b": 2})]
    assert "call_promoted_from_text" not in turn.repairs


def test_native_calls_and_calls_in_the_text_are_numbered_together() -> None:
    fragments = [*said(CALL), native("g", '{"b":2}'), *said(CALL), STOP]
    events = run(watched(), fragments)
    assert sorted(calls_of(events), key=str) == [("f", {"a": 1}), ("f", {"a": 1}), ("g", {"b": 2})]
    ids = [event.call_id for event in events if isinstance(event, CallStart)]
    assert len(set(ids)) == 3


def test_a_native_call_waits_until_the_one_in_the_text_is_over() -> None:
    half = len(CALL) - 20
    fragments = [*said(CALL[:half]), native("g", '{"b":2}'), *said(CALL[half:]), STOP]
    assert calls_of(run(watched(), fragments)) == [("f", {"a": 1}), ("g", {"b": 2})]


def test_a_native_call_that_waited_comes_even_if_the_one_in_the_text_breaks_off() -> None:
    fragments = [*said(CALL[:-20]), native("g", '{"b":2}'), STOP]
    events = run(watched(), fragments)
    names = [event.name for event in events if isinstance(event, CallStart)]
    assert names == ["f", "g"]
    assert [event.complete for event in events if isinstance(event, CallEnd)] == [False, True]


def test_a_call_in_the_text_waits_until_the_native_one_is_over() -> None:
    pieces = [native("g", '{"b":'), *said(*CALL), native("", "2}"), *said(CALL), STOP]
    assert calls_of(run(watched(), pieces)) == [("g", {"b": 2}), ("f", {"a": 1}), ("f", {"a": 1})]


SAME = native("f", '{"a":1}')
REPEATED: dict[str, list[Fragment]] = {
    "text first": [*said("Sure.", CALL), SAME],
    "text first, in pieces": [*said("Sure.", *CALL), native("f", '{"a"'), native("", ":1}")],
    "native first": [*said("Sure."), SAME, *said(CALL)],
    "native first, in pieces": [native("f", '{"a"'), *said(*CALL, "Sure."), native("", ":1}")],
    "in one fragment": [Fragment(text=f"Sure.{CALL}", calls=SAME.calls)],
}


@pytest.mark.parametrize("delivery", ["live", "whole"])
@pytest.mark.parametrize("fragments", REPEATED.values(), ids=REPEATED)
def test_a_call_in_the_text_that_the_backend_also_made_is_one(
    fragments: list[Fragment], delivery: str
) -> None:
    turn = watched(delivery=delivery)
    events = run(turn, [*fragments, native("g", '{"b":2}', 1), STOP])
    assert calls_of(events) == [("f", {"a": 1}), ("g", {"b": 2})]
    assert text_of(events) == "Sure."
    assert "call_repeated" in turn.repairs


def test_each_call_in_the_text_repeats_only_one() -> None:
    calls = [native("f", '{"a":1}', index) for index in range(3)]
    assert calls_of(run(watched(), [*said(CALL, CALL), *calls, STOP])) == [("f", {"a": 1})] * 3


@pytest.mark.parametrize(
    "other", [native("f", '{"a":2}'), native("f", '{"a":true}'), native("f", '{"a":1,"b":1}')]
)
def test_a_call_with_other_arguments_is_another_call(other: Fragment) -> None:
    turn = watched()
    assert len(calls_of(run(turn, [*said(CALL), other, STOP]))) == 2
    assert len(calls_of(run(watched(), [other, *said(CALL), STOP]))) == 2
    assert "call_repeated" not in turn.repairs


def test_a_call_that_cannot_be_read_is_not_repeated() -> None:
    broken = '<tool_call>\n{"name": "f", "arguments": {"a": oops}}\n</tool_call>'
    events = run(watched(delivery="reported"), [*said(broken), native("f", "{}"), STOP])
    assert [event.complete for event in events if isinstance(event, CallEnd)] == [False, True]
    assert ArgsDelta(1, "{}") in events


def test_any_number_of_deltas_may_wait() -> None:
    long = CALL.replace("1", json.dumps("x" * 20_000))
    events = run(watched(), [native("g", "{"), *said(*long), native("", "}"), STOP])
    assert calls_of(events) == [("g", {}), ("f", {"a": "x" * 20_000})]


@pytest.mark.parametrize("delivery", ["live", "whole"])
def test_a_call_that_was_cut_off_is_never_complete(delivery: str) -> None:
    events = run(watched(delivery=delivery), [*said(CALL[:-20]), Fragment(finish="length")])
    assert all(not event.complete for event in events if isinstance(event, CallEnd))
    assert events[-1] == TurnEnd("length")
    if delivery == "whole":
        assert text_of(events) == CALL[:-20]


def test_text_that_could_still_become_a_marker_is_said_at_the_end() -> None:
    turn = watched()
    assert text_of(turn.feed(Fragment(text="a <tool_c"))) == "a "
    assert run(turn, [STOP]) == [TextDelta("<tool_c"), TurnEnd("stop")]


def test_reasoning_is_not_watched() -> None:
    events = run(watched(), [Fragment(reasoning=CALL), *said("Hello."), STOP])
    assert events[0] == ReasoningDelta(CALL)
    assert calls_of(events) == []


def test_an_answer_that_breaks_off_is_an_error_whatever_was_found() -> None:
    turn = watched()
    turn.feed(Fragment(text=CALL))
    with pytest.raises(UpstreamError):
        turn.finish(done=False)


def scored(text: str) -> Fragment:
    logprobs = json.dumps({"content": [{"token": text}], "refusal": None}).encode()
    return Fragment(text=text, logprobs=logprobs)


def tokens_of(events: list[Event]) -> str:
    scores = [e.logprobs for e in events if isinstance(e, TextDelta) and e.logprobs]
    return "".join(token["token"] for raw in scores for token in json.loads(raw)["content"])


def test_logprobs_stay_with_the_text_even_if_it_was_held_back() -> None:
    turn = watched()
    assert turn.feed(scored("Hello")) == [TextDelta("Hello", scored("Hello").logprobs)]
    events = run(turn, [scored(" <tool"), scored("_c"), scored("at>"), STOP])
    assert tokens_of(events) == text_of(events) == " <tool_cat>"


def test_logprobs_of_a_call_are_not_those_of_the_answer() -> None:
    events = run(watched(), [scored("So:\n"), *map(scored, CALL), scored("Done."), STOP])
    assert calls_of(events) == [("f", {"a": 1})]
    assert tokens_of(events).startswith("So:\n")
    assert tokens_of(events).endswith("Done.")
    assert "arguments" not in tokens_of(events)


@pytest.mark.parametrize("delivery", ["live", "whole"])
@pytest.mark.parametrize(
    "before", ["<tool_", "<tool_call>", '<tool_call>{"name": "f", "arguments": {"a']
)
def test_a_gap_in_a_call_or_in_its_marker_is_an_error(delivery: Any, before: str) -> None:
    turn = watched(delivery=delivery)
    turn.feed(Fragment(text=f"Well. {before}"))
    with pytest.raises(UpstreamError, match="inside a tool call"):
        turn.feed(Fragment(gap=True))


def test_a_gap_in_prose_is_only_missing() -> None:
    events = run(watched(), [*said("Well, "), Fragment(gap=True), *said("yes."), STOP])
    assert text_of(events) == "Well, yes."


def test_a_gap_behind_a_call_is_only_missing() -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>\n'
    events = run(watched(), [*said(call), Fragment(gap=True), Fragment(finish="stop")])
    assert calls_of(events) == [("f", {})]


def test_a_call_behind_a_gap_is_an_error() -> None:
    turn = watched()
    turn.feed(Fragment(gap=True))
    with pytest.raises(UpstreamError, match="before a tool call"):
        run(turn, said('<tool_call>{"name": "f", "arguments": {}}</tool_call>'))
