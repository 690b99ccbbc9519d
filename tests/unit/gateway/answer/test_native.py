"""Every odd way in which backends send calls, made right."""

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from toolwire.errors import UpstreamError
from toolwire.gateway.answer.native import NativeReader
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TextDelta, TurnEnd
from toolwire.protocol.fragments import CallFragment as Piece
from toolwire.protocol.fragments import Fragment

TOOLS = ("read", "write", "get", "get_weather", "look_up")
GAP = Fragment(gap=True)


class Told:
    """What became of an answer."""

    def __init__(self, events: list[Event], repairs: set[str]) -> None:
        self.events = events
        self.repairs = repairs
        self.starts = [event for event in events if isinstance(event, CallStart)]
        self.ends = [event for event in events if isinstance(event, CallEnd)]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Name and arguments of each call."""
        joined = {start.index: "" for start in self.starts}
        for event in self.events:
            if isinstance(event, ArgsDelta):
                joined[event.index] += event.json
        return [(start.name, joined[start.index]) for start in self.starts]


def tell(
    *said: Fragment | Piece | Iterable[Piece], finish: str | None = "tool_calls", done: bool = True
) -> Told:
    """Feed an answer; its deltas each come alone unless they are in one list."""
    numbers = itertools.count()
    turn = NativeReader(TOOLS, lambda: f"call_{next(numbers)}")
    events: list[Event] = []
    for item in said:
        events += turn.feed(item if isinstance(item, Fragment) else _delta(item))
    events += turn.feed(Fragment(finish=finish))
    events += turn.finish(done=done)
    _check_order(events)
    return Told(events, turn.repairs)


def _delta(item: Piece | Iterable[Piece]) -> Fragment:
    return Fragment(calls=(item,) if isinstance(item, Piece) else tuple(item))


def _check_order(events: list[Event]) -> None:
    """Calls never overlap, and are numbered 0, 1, 2, ..."""
    open_call: int | None = None
    seen = 0
    for event in events:
        match event:
            case CallStart(index):
                assert (open_call, index) == (None, seen)
                open_call, seen = index, seen + 1
            case ArgsDelta(index):
                assert index == open_call
            case CallEnd(index):
                assert index == open_call
                open_call = None
            case _:
                pass
    assert open_call is None


READ, WRITE = ("read", '{"a":1}'), ("write", '{"b":2}')


def deltas(index: int | None, call_id: str | None, name: str, arguments: str) -> list[Piece]:
    """A call as most backends send it: its head, then its arguments in two pieces."""
    half = len(arguments) // 2
    return [
        Piece(index, call_id, name, ""),
        Piece(index, None, None, arguments[:half]),
        Piece(index, None, None, arguments[half:]),
    ]


ODD: dict[str, list[Any]] = {
    "as it should be": [*deltas(0, "x", *READ), *deltas(1, "y", *WRITE)],
    "whole": [Piece(0, "x", *READ), Piece(1, "y", *WRITE)],
    "several calls in one delta": [[Piece(0, "x", *READ), Piece(1, "y", *WRITE)]],
    "no index": [*deltas(None, "x", *READ), *deltas(None, "y", *WRITE)],
    "no index and no id": [*deltas(None, None, *READ), *deltas(None, None, *WRITE)],
    "no index, several in one delta": [[Piece(None, None, *READ), Piece(None, None, *WRITE)]],
    "shared index": [*deltas(0, "x", *READ), *deltas(0, "y", *WRITE)],
    "shared index and no id": [*deltas(0, None, *READ), *deltas(0, None, *WRITE)],
    "shared index and shared id": [*deltas(0, "x", *READ), *deltas(0, "x", *WRITE)],
    "index with gaps": [*deltas(1, "x", *READ), *deltas(7, "y", *WRITE)],
    "index downwards": [*deltas(9, "x", *READ), *deltas(3, "y", *WRITE)],
    "no id": [*deltas(0, None, *READ), *deltas(1, None, *WRITE)],
    "empty id": [*deltas(0, "", *READ), *deltas(1, "", *WRITE)],
    "one id for both": [*deltas(0, "x", *READ), *deltas(1, "x", *WRITE)],
    "over-long ids": [*deltas(0, "x" * 999, *READ), *deltas(1, "y" * 999, *WRITE)],
    "id in every delta": [
        Piece(0, "x", "read", ""), Piece(0, "x", None, '{"a"'), Piece(0, "x", None, ":1}"),
        *deltas(1, "y", *WRITE),
    ],
    "id in every delta, no index": [
        Piece(None, "x", "read", ""), Piece(None, "x", None, '{"a"'), Piece(None, "x", None, ":1}"),
        *deltas(None, "y", *WRITE),
    ],
    "another id in every delta": [
        Piece(0, "x", "read", ""), Piece(0, "x2", None, '{"a"'), Piece(0, "x3", None, ":1}"),
        *deltas(1, "y", *WRITE),
    ],
    "another id in every delta, no index": [
        Piece(None, "x", "read", ""), Piece(None, "x2", None, '{"a"'),
        Piece(None, "x3", None, ":1}"), *deltas(None, "y", *WRITE),
    ],
    "id, type and name in every delta": [
        Piece(0, "x", "read", ""), Piece(0, "x", "read", '{"a"'), Piece(0, "x", "read", ":1}"),
        *deltas(1, "y", *WRITE),
    ],
    "name in every delta": [
        Piece(0, "x", "read", ""), Piece(0, None, "read", '{"a"'), Piece(0, None, "read", ":1}"),
        Piece(0, None, "read", ""), *deltas(1, "y", *WRITE),
    ],
    "empty id and name later": [
        Piece(0, "x", "read", ""), Piece(0, "", "", '{"a":1}'), *deltas(1, "y", *WRITE),
    ],
    "name in halves": [
        Piece(0, "x", "re", ""), Piece(0, None, "ad", ""), Piece(0, None, None, '{"a":1}'),
        *deltas(1, "y", *WRITE),
    ],
    "name in halves, with the arguments": [
        Piece(0, "x", "re"), Piece(0, None, "ad", '{"a":1}'), *deltas(1, "y", *WRITE),
    ],
    "name growing": [
        Piece(0, "x", "r", ""), Piece(0, None, "re", ""), Piece(0, None, "read", '{"a":1}'),
        *deltas(1, "y", *WRITE),
    ],
    "name late": [
        Piece(0, "x"), Piece(0, None, *READ), Piece(1, "y"), Piece(1, None, *WRITE),
    ],
    "names behind the arguments": [
        Piece(0, "x", None, READ[1]), Piece(0, None, "read"), Piece(1, "y", None, WRITE[1]),
        Piece(1, "y", *WRITE),
    ],
    "names behind the arguments, no index and no id": [
        Piece(None, None, None, READ[1]), Piece(None, None, "read", ""),
        *deltas(None, None, *WRITE),
    ],
    "names late, both ids first": [
        Piece(0, "x"), Piece(1, "y"), Piece(0, None, *READ), Piece(1, None, *WRITE),
    ],
    "arguments an object": [Piece(0, "x", "read", {"a": 1}), Piece(1, "y", "write", {"b": 2})],
    "arguments null at first": [
        Piece(0, "x", "read", None), Piece(0, None, None, '{"a":1}'), *deltas(1, "y", *WRITE),
    ],
    "arguments twice": [
        *deltas(0, "x", *READ), Piece(0, None, None, READ[1]), *deltas(1, "y", *WRITE),
    ],
    "the whole call twice": [
        *deltas(0, "x", *READ), Piece(0, "x", *READ), *deltas(1, "y", *WRITE),
        Piece(1, "y", *WRITE),
    ],
    "arguments growing": [
        Piece(0, "x", "read", ""), Piece(0, None, None, "{"), Piece(0, None, None, '{"a'),
        Piece(0, None, None, '{"a":'), Piece(0, None, None, READ[1]), Piece(0, None, None, READ[1]),
        *(Piece(1, "y", "write", WRITE[1][:end]) for end in (2, 3, 6, 6, 7)),
    ],
    "arguments growing, interleaved": [
        piece
        for end in (0, 3, 6, 7)
        for piece in (Piece(0, "x", "read", READ[1][:end]), Piece(1, "y", "write", WRITE[1][:end]))
    ],
    "arguments in a code fence": [
        Piece(0, "x", "read", '```json\n{"a":1}\n```'), Piece(1, "y", "write", '``'),
        Piece(1, None, None, '`\n'), Piece(1, None, None, '{"b"'), Piece(1, None, None, ":2}\n```"),
    ],
    "arguments in a code fence, letter by letter": [
        Piece(0, "x", "read"), *(Piece(0, None, None, c) for c in '```json\n{"a":1}\n```'),
        *deltas(1, "y", *WRITE),
    ],
    "an empty object before the arguments": [
        Piece(0, "x", "read", "{}"), Piece(0, None, None, '{"a"'), Piece(0, None, None, ":1}"),
        *deltas(1, "y", *WRITE),
    ],
    "an empty object, and the arguments with the id and the name again": [
        Piece(0, "x", "read", "{}"), Piece(0, "x", *READ), *deltas(1, "y", *WRITE),
    ],
    "empty objects before the arguments, in one piece": [
        Piece(0, "x", "read", '{} { }\n{"a":1}'), Piece(1, "y", "write", '{}{"b":2}'),
    ],
    "an empty object in pieces before the arguments, interleaved": [
        Piece(0, "x", "read", '{"a"'), Piece(1, "y", "write", "{"), Piece(1, None, None, "}"),
        Piece(1, None, None, WRITE[1]), Piece(0, None, None, ":1}"),
    ],
    "something after the arguments": [
        Piece(0, "x", "read", '{"a":1}\n</tool_call>'), *deltas(1, "y", *WRITE),
    ],
    "interleaved": [
        Piece(0, "x", "read", '{"a"'), Piece(1, "y", "write", '{"b"'), Piece(0, None, None, ":1}"),
        Piece(1, None, None, ":2}"),
    ],
    "interleaved by id alone": [
        Piece(None, "x", "read", '{"a"'), Piece(None, "y", "write", '{"b"'),
        Piece(None, "x", None, ":1}"), Piece(None, "y", None, ":2}"),
    ],
    "interleaved, names in halves": [
        Piece(0, "x", "re"), Piece(1, "y", "wri"), Piece(0, None, "ad", '{"a":1}'),
        Piece(1, None, "te", '{"b":2}'),
    ],
    "a later index without a name": [
        Piece(0, "x", "read", '{"a"'), Piece(1, None, None, ":1}"), *deltas(2, "y", *WRITE),
    ],
    "an id that is never used": [
        *deltas(0, "x", *READ), Piece(0, "z", None, ""), *deltas(1, "y", *WRITE),
    ],
}  # fmt: skip


@pytest.mark.parametrize("said", ODD.values(), ids=ODD)
def test_the_same_two_calls_come_out(said: list[Any]) -> None:
    told = tell(*said)
    assert told.calls == [READ, WRITE]
    assert [start.call_id for start in told.starts] == ["call_0", "call_1"]
    assert all(end.complete for end in told.ends)
    assert told.events[-1] == TurnEnd("tool_calls")


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "function_call", "eos", None])
def test_the_reason_for_the_end_does_not_matter_to_the_calls(finish: str | None) -> None:
    assert tell(Piece(0, "x", *READ), finish=finish).calls == [READ]


@pytest.mark.parametrize("nothing", [None, "", " ", "\n", "null", "{}", {}], ids=repr)
@pytest.mark.parametrize("finish", ["tool_calls", None])
def test_no_arguments_are_an_empty_object(nothing: Any, finish: str | None) -> None:
    told = tell(Piece(0, "x", "read", nothing), Piece(1, "y", *WRITE), finish=finish)
    assert told.calls == [("read", "{}"), WRITE]
    assert told.ends[0].complete


def test_calls_without_arguments_index_or_id_are_told_apart_by_their_names() -> None:
    assert tell(Piece(None, None, "read"), Piece(None, None, "write")).calls == [
        ("read", "{}"),
        ("write", "{}"),
    ]


@pytest.mark.parametrize("index", [None, 0])
@pytest.mark.parametrize("call_id", [None, "x"])
def test_two_calls_of_one_tool_are_two_calls(index: int | None, call_id: str | None) -> None:
    one, two = ("read", '{"a":1}'), ("read", '{"a":2}')
    assert tell(*deltas(index, call_id, *one), *deltas(index, call_id, *two)).calls == [one, two]
    assert tell(Piece(index, call_id, *one), Piece(index, call_id, *two)).calls == [one, two]


def test_a_name_said_once_more_at_the_end_is_no_call() -> None:
    for end in ([], deltas(1, "y", *WRITE)):
        told = tell(*deltas(0, "x", *READ), Piece(0, None, "read", ""), *end)
        assert told.calls == [READ, WRITE][: 1 + bool(end)]
        assert told.repairs == set()


def test_arguments_sent_again_after_that_are_still_the_same_call() -> None:
    echo = Piece(0, "x", "read", "")
    told = tell(
        *deltas(0, "x", *READ), echo, *deltas(1, "y", *WRITE), Piece(0, None, None, READ[1])
    )
    assert told.calls == [READ, WRITE]


def test_the_null_may_come_in_pieces() -> None:
    told = tell(Piece(0, "x", "read", "nu"), Piece(0, None, None, "ll"))
    assert told.calls == [("read", "{}")]


@pytest.mark.parametrize("said", ["{}", "{ }", "{}{}", '"{}{"', '{"a": {}}'])
def test_an_empty_object_that_no_object_follows_stays(said: str) -> None:
    told = tell(Piece(0, "x", "read", said[:1]), Piece(0, None, None, said[1:]))
    assert told.calls == [("read", said[:2] if said == "{}{}" else said)]


@pytest.mark.parametrize(
    ("first", "second"),
    [('{"a":', '{"a":1}}'), ('{"a": [ ', '{"a": [ 1]}]}'), ('{"a":"', '{\\"a\\":1}"}')],
)
def test_an_object_within_the_arguments_may_begin_like_them(first: str, second: str) -> None:
    told = tell(Piece(0, "x", "read", first), Piece(0, None, None, second))
    assert told.calls == [("read", first + second)]
    assert told.repairs == set()


def test_growing_arguments_go_out_as_they_grow() -> None:
    turn = NativeReader(TOOLS, lambda: "call_0")
    turn.feed(Fragment(calls=(Piece(0, "x", "read", '{"'),)))
    for more, new in (('{"a"', 'a"'), ('{"a":', ":"), ('{"a":1}', "1}")):
        growing = Fragment(calls=(Piece(0, None, None, more),))
        assert turn.more(growing) is None
        assert turn.feed(growing) == [ArgsDelta(0, new)]
    assert turn.repairs == {"arguments_repeated"}


class TestNames:
    def test_a_name_that_could_grow_waits_for_the_arguments(self) -> None:
        turn = NativeReader(TOOLS, lambda: "call_0")
        assert turn.feed(Fragment(calls=(Piece(0, "x", "get", ""),))) == []
        assert isinstance(turn.feed(Fragment(calls=(Piece(0, None, None, "{"),)))[0], CallStart)

    def test_a_name_that_cannot_grow_goes_out_at_once(self) -> None:
        turn = NativeReader(TOOLS, lambda: "call_0")
        started = turn.feed(Fragment(calls=(Piece(0, "x", "get_weather", ""),)))
        assert started == [CallStart(0, "get_weather", "call_0", "x")]

    def test_a_name_that_did_grow_is_the_longer_one(self) -> None:
        told = tell(Piece(0, "x", "get", ""), Piece(0, None, "_weather", '{"a":1}'))
        assert told.calls == [("get_weather", '{"a":1}')]

    def test_a_name_that_did_not_grow_stays(self) -> None:
        assert tell(Piece(0, "x", "get", "")).calls == [("get", "{}")]

    def test_a_name_that_no_tool_has_is_passed_on(self) -> None:
        assert tell(Piece(0, "x", "invented", "{}")).calls == [("invented", "{}")]

    @pytest.mark.parametrize("pieces", [("inv", "ented"), ("inv", "invented"), ("invented",) * 2])
    def test_also_in_halves_growing_or_repeated(self, pieces: tuple[str, ...]) -> None:
        told = tell(*(Piece(0, "x", piece) for piece in pieces), Piece(0, None, None, "{}"))
        assert told.calls == [("invented", "{}")]

    def test_a_call_without_a_name_is_the_backends_failure(self) -> None:
        with pytest.raises(UpstreamError, match="without a name"):
            tell(Piece(0, "x", None, "{}"))


class TestLive:
    def test_arguments_go_out_as_they_come(self) -> None:
        turn = NativeReader(TOOLS, lambda: "call_0")
        turn.feed(Fragment(calls=(Piece(0, "x", "read", ""),)))
        for piece in ('{"a"', ": ", "1}"):
            assert turn.feed(Fragment(calls=(Piece(0, None, None, piece),))) == [
                ArgsDelta(0, piece)
            ]

    def test_an_empty_object_waits_for_what_follows(self) -> None:
        turn = NativeReader(TOOLS, lambda: "call_0")
        assert len(turn.feed(Fragment(calls=(Piece(0, "x", "read", "{}"),)))) == 1
        assert turn.feed(Fragment(calls=(Piece(0, None, None, '{"a"'),))) == [ArgsDelta(0, '{"a"')]
        assert turn.more(Fragment(calls=(Piece(0, None, None, ":1}"),))) == ":1}"
        assert turn.repairs == {"arguments_repeated"}

    def test_a_call_ends_when_the_next_begins(self) -> None:
        turn = NativeReader(TOOLS, lambda: "call_0")
        turn.feed(Fragment(calls=(Piece(0, "x", *READ),)))
        events = turn.feed(Fragment(calls=(Piece(1, "y", "write", ""),)))
        assert [type(event) for event in events] == [CallEnd, CallStart]

    def test_what_is_not_in_turn_waits(self) -> None:
        turn = NativeReader(TOOLS, lambda: "call_0")
        turn.feed(Fragment(calls=(Piece(0, "x", "read", '{"a"'),)))
        assert turn.feed(Fragment(calls=(Piece(1, "y", *WRITE),))) == []

    def test_the_providers_id_is_kept_beside_ours(self) -> None:
        start = tell(Piece(0, "x", *READ)).starts[0]
        assert (start.call_id, start.provider_id) == ("call_0", "x")


class TestEnd:
    @pytest.mark.parametrize(
        ("finish", "reason"),
        [
            ("stop", "stop"), ("eos", "stop"), ("", "stop"), ("length", "length"),
            ("max_tokens", "length"), ("model_length", "length"),
            ("content_filter", "content_filter"), ("tool_calls", "tool_calls"),
            ("function_call", "tool_calls"),
        ],
    )  # fmt: skip
    def test_every_word_for_the_end_is_one_of_four(self, finish: str, reason: str) -> None:
        assert tell(Fragment(text="Hi"), finish=finish).events[-1] == TurnEnd(reason)  # type: ignore[arg-type]

    def test_a_missing_word_is_supplied_where_the_backend_said_it_was_done(self) -> None:
        told = tell(Fragment(text="Hi"), finish=None)
        assert told.events[-1] == TurnEnd("stop")
        assert told.repairs == {"finish_reason_missing"}

    def test_silence_is_no_end(self) -> None:
        with pytest.raises(UpstreamError, match="before it was finished"):
            tell(Fragment(text="Hi"), finish=None, done=False)

    def test_a_finish_reason_is_an_end_without_done(self) -> None:
        assert tell(Fragment(text="Hi"), finish="stop", done=False).events[-1] == TurnEnd("stop")

    @pytest.mark.parametrize("arguments", ["{", '{"a": "b', '{"a": 1', '{"a": {}', '"{'])
    def test_done_within_a_call_is_no_end(self, arguments: str) -> None:
        with pytest.raises(UpstreamError, match="in the middle of a tool call"):
            tell(Piece(0, "x", "read", arguments), finish=None)

    def test_done_within_an_earlier_call_is_no_end(self) -> None:
        with pytest.raises(UpstreamError, match="in the middle of a tool call"):
            tell(Piece(0, "x", "read", "{"), Piece(1, "y", *WRITE), finish=None)

    def test_an_error_for_a_reason_is_an_error(self) -> None:
        with pytest.raises(UpstreamError, match="with an error"):
            tell(Fragment(text="Hi"), finish="error")

    def test_a_call_of_which_nothing_came_is_no_answer(self) -> None:
        with pytest.raises(UpstreamError, match="tool calls were empty"):
            tell(Piece(0, "x"))

    def test_beside_text_it_is_only_left_out(self) -> None:
        told = tell(Fragment(text="Hi"), Piece(0, "x"))
        assert told.events == [TextDelta("Hi"), TurnEnd("tool_calls")]
        assert told.repairs == {"call_dropped:empty"}

    @pytest.mark.parametrize("finish", ["stop", "tool_calls"])
    def test_it_is_not_missed_if_there_are_others_or_none_was_meant(self, finish: str) -> None:
        calls = [Piece(1, "y", *READ)] if finish == "tool_calls" else []
        assert tell(Piece(0, "x"), *calls, finish=finish).repairs == set()

    def test_a_call_that_was_cut_off_is_not_complete(self) -> None:
        told = tell(Piece(0, "x", "read", '{"a"'), finish="length")
        assert told.calls == [("read", '{"a"')]
        assert not told.ends[0].complete


class TestGaps:
    def test_a_broken_line_in_text_is_passed_over(self) -> None:
        told = tell(Fragment(text="a"), GAP, Fragment(text="b"), finish="stop")
        assert told.repairs == {"broken_line_skipped"}

    def test_a_broken_line_after_a_call_is_passed_over(self) -> None:
        assert tell(Piece(0, "x", *READ), GAP).calls == [READ]

    def test_a_broken_line_within_a_call_ends_the_answer(self) -> None:
        with pytest.raises(UpstreamError, match="broken inside a tool call"):
            tell(Piece(0, "x", "read", '{"a"'), GAP, Piece(0, None, None, ":1}"))

    def test_also_behind_an_empty_object_that_was_not_all(self) -> None:
        with pytest.raises(UpstreamError, match="broken inside a tool call"):
            tell(Piece(0, "x", "read", "{}"), GAP, Piece(0, None, None, '{"b":2}'))

    def test_also_within_a_call_that_is_not_the_last(self) -> None:
        with pytest.raises(UpstreamError, match="broken inside a tool call"):
            tell(Piece(0, "x", "read", '{"a"'), Piece(1, "y", *WRITE), GAP)

    def test_a_broken_line_that_took_the_head_of_a_call_ends_the_answer(self) -> None:
        with pytest.raises(UpstreamError, match="broken inside a tool call"):
            tell(Piece(0, "x", *READ), GAP, Piece(1, None, None, '{"b":2}'))

    def test_a_broken_line_that_took_all_of_a_call_ends_the_answer(self) -> None:
        with pytest.raises(UpstreamError, match="its tool call is lost"):
            tell(Fragment(text="Let me see."), GAP, finish="tool_calls")

    @pytest.mark.parametrize("finish", ["stop", None])
    def test_an_answer_of_which_nothing_could_be_read_is_none(self, finish: str | None) -> None:
        with pytest.raises(UpstreamError, match="none of it could be read"):
            tell(GAP, finish=finish)


def test_custom_calls_are_text_and_never_json() -> None:
    told = tell(
        Piece(0, "x", "read", "ls {", custom=True),
        Piece(0, None, None, " -l", custom=True),
        Piece(1, "y", "write", "", custom=True),
    )
    assert told.calls == [("read", "ls { -l"), ("write", "")]
    assert [start.kind for start in told.starts] == ["custom", "custom"]


def test_text_reasoning_and_other_fields_go_through_in_order() -> None:
    told = tell(
        Fragment(reasoning="hm"), Fragment(text="a"), Fragment(extras=(("refusal", b'"no"'),)),
        finish="stop",
    )  # fmt: skip
    assert [type(event).__name__ for event in told.events] == [
        "ReasoningDelta", "TextDelta", "Extra", "TurnEnd",
    ]  # fmt: skip


def test_calls_without_end_are_an_error() -> None:
    many = [Piece(n, f"id{n}", "read", "{}") for n in range(1025)]
    assert len(tell(*many[:1024]).calls) == 1024
    with pytest.raises(UpstreamError, match="more than 1024 tool calls"):
        tell(*many)
