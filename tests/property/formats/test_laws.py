"""The seven laws over every format and every case, and a mutant that each law must catch."""

import json
import os
import random
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from typing import Any

import laws
import pytest
from cases import Case, all_cases, cases_of, chunks, parse, standard_tools
from floods import hostile_texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolwire.formats import (
    Parser,
    RenderedCall,
    Trace,
    extract,
    get,
    names,
    parser_for,
    provider_id,
    render_calls,
)
from toolwire.formats.lexer import Lexer
from toolwire.protocol.events import ArgsDelta, CallStart, Event

quick = partial(settings, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
EVERY_CUT = 600  # characters: a longer text is cut in 64 places
SEED = int(os.environ.get("TOOLWIRE_LAWS_SEED") or random.SystemRandom().randrange(1 << 32))
AGAIN = f"to see it again: TOOLWIRE_LAWS_SEED={SEED}"


# Law 1: cutting does not matter.


@pytest.mark.parametrize("name", names())
def test_every_single_cut_gives_the_same(name: str) -> None:
    for case in cases_of(name):
        step = 1 if len(case.text) <= EVERY_CUT else len(case.text) // 64 + 1
        cuttings = laws.every_single_cut(case.text, step)
        laws.cutting_does_not_matter(case.parser, case.text, cuttings)


@pytest.mark.parametrize("name", names())
def test_every_chunk_size_gives_the_same(name: str) -> None:
    for case in cases_of(name):
        laws.cutting_does_not_matter(case.parser, case.text, laws.every_chunk_size(case.text))


@pytest.fixture
def dice(request: pytest.FixtureRequest) -> random.Random:
    """Of every test its own, so that each can be run again alone; the seed is in its output."""
    print(AGAIN)  # noqa: T201  # pytest shows it with a failure
    return random.Random(f"{SEED} {request.node.name}")


@pytest.mark.parametrize("delivery", ["live", "whole"])
@pytest.mark.parametrize("name", names())
def test_random_cuts_give_the_same(name: str, delivery: Any, dice: random.Random) -> None:
    for case in cases_of(name):
        cuttings = laws.random_cuttings(case.text, dice, 3)
        laws.cutting_does_not_matter(partial(case.parser, delivery), case.text, cuttings)


@pytest.mark.parametrize("delivery", ["live", "whole"])
@pytest.mark.parametrize("name", names())
def test_special_tokens_in_one_piece_give_the_same(
    name: str, delivery: Any, dice: random.Random
) -> None:
    tokens = {*get(name).framing.markers(), *get(name).special_tokens}
    for case in cases_of(name):
        cuttings = laws.token_cuttings(case.text, tokens, dice, 2)
        laws.cutting_does_not_matter(partial(case.parser, delivery), case.text, cuttings)


@pytest.mark.parametrize("delivery", ["live", "whole"])
@pytest.mark.parametrize("name", names())
def test_hostile_text_may_be_cut_anywhere(name: str, delivery: Any) -> None:
    make = partial(parser_for, name, standard_tools(), delivery=delivery)

    @quick(max_examples=14)
    @given(hostile_texts(name), st.integers(1, 9))
    def check(text: str, size: int) -> None:
        laws.cutting_does_not_matter(make, text, [chunks(text, size), chunks(text, 1)])

    check()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gemma4", "<|tool_call>call:f{" + "k" * 140 + ":1}<tool_call|>"),
        ("gemma4", "<|tool_call>call:f{k:" + "v" * 600 + "}<tool_call|>"),
        ("functionary_v31", '<function=e>{"<function=".\n'),
        ("minimax_m1", '<tool_calls>{"name":"r","arguments":{}}' + "\n" * 12 + "</think>"),
    ],
)
def test_what_is_too_long_or_wrong_may_be_cut_anywhere(name: str, text: str) -> None:
    laws.cutting_does_not_matter(partial(parser_for, name), text, laws.every_chunk_size(text))


def test_a_lexer_that_holds_nothing_back_breaks_law_1(monkeypatch: pytest.MonkeyPatch) -> None:
    case = next(c for c in cases_of("hermes") if c.name == "text_in_front")
    whole = case.parser
    original = Lexer.search

    def hasty(self: Lexer, reader: Any) -> tuple[int, int, str]:
        final, reader.final = reader.final, True
        try:
            return original(self, reader)
        finally:
            reader.final = final

    monkeypatch.setattr(Lexer, "search", hasty)
    with pytest.raises(AssertionError):
        laws.cutting_does_not_matter(whole, case.text, laws.every_single_cut(case.text))


# Law 2: total, and nothing is lost.


@pytest.mark.parametrize("delivery", ["live", "whole"])
@pytest.mark.parametrize("name", [n for n in names() if n != "generic"])
def test_hostile_text_is_accounted_for(name: str, delivery: Any) -> None:
    def make(trace: Trace) -> Parser:
        return parser_for(name, standard_tools(), delivery=delivery, trace=trace)

    @quick(max_examples=14)
    @given(hostile_texts(name), st.integers(1, 40))
    def check(text: str, size: int) -> None:
        laws.nothing_is_lost(make, text, chunks(text, size))

    check()


@pytest.mark.parametrize("name", names())
@quick(max_examples=10)
@given(text=st.text(max_size=60))
def test_no_text_raises(name: str, text: str) -> None:
    for delivery in ("live", "whole"):
        parse(parser_for(name, standard_tools(), delivery=delivery), chunks(text, 3))  # type: ignore[arg-type]


DEEP = ('{"tool_calls": [', '{"function": {', "[a(**{},", "**{},", "[a(b=[", "{b:{", '{"a": [')


@pytest.mark.parametrize("name", names())
def test_no_depth_raises(name: str) -> None:
    for opener in ("", "[a(", *get(name).framing.markers()[:3]):
        for level in DEEP:
            parse(parser_for(name, standard_tools()), chunks(opener + level * 500, 4096))


class Forgetful(Parser):
    """Loses what was still held at the end."""

    def finish(self) -> list[Event]:
        return []


def test_a_parser_that_forgets_its_end_breaks_law_2() -> None:
    def make(trace: Trace) -> Parser:
        return Forgetful(get("hermes"), trace=trace)

    with pytest.raises(AssertionError):
        laws.nothing_is_lost(make, "a <tool_c", ["a <tool_c"])


# Law 3: the shape of calls.


@pytest.mark.parametrize("name", names())
def test_calls_are_well_formed_whatever_the_text(name: str) -> None:
    @quick(max_examples=14)
    @given(hostile_texts(name), st.integers(1, 30))
    def check(text: str, size: int) -> None:
        for delivery in ("live", "whole"):
            parser = parser_for(name, standard_tools(), delivery=delivery)  # type: ignore[arg-type]
            laws.calls_are_well_formed(parse(parser, chunks(text, size)))

    check()


@pytest.mark.parametrize("name", names())
def test_what_is_cut_off_anywhere_is_certain(name: str, dice: random.Random) -> None:
    for case in (c for c in cases_of(name) if c.calls and not c.malformed):
        for _ in range(6):
            end = dice.randrange(len(case.text))
            laws.what_is_cut_off_is_certain(case.parser, case.text, end)


class Hasty(Parser):
    """Sends whatever is left when the text is over, as an engine once did."""

    def finish(self) -> list[Event]:
        rest = self._reader.buf
        return [*super().finish(), ArgsDelta(0, rest)] if rest else super().finish()


def test_a_parser_that_sends_half_a_tag_breaks_law_3() -> None:
    text = "<tool_call>\n<function=get_time>\n<parameter=tz>\nCET\n</parameter>\n<parameter=a"
    with pytest.raises(AssertionError):
        laws.what_is_cut_off_is_certain(
            lambda delivery: Hasty(get("qwen3_coder"), delivery=delivery), text, len(text)
        )


class Guessing(Parser):
    """Ends every string when the text is over, as an engine once did with half an escape."""

    def finish(self) -> list[Event]:
        return [ArgsDelta(0, "n"), *super().finish()]


def test_a_parser_that_completes_an_escape_breaks_law_3() -> None:
    text = '<tool_call>{"name": "get_time", "arguments": {"tz": "a\\tb"}}</tool_call>'
    with pytest.raises(AssertionError):
        laws.what_is_cut_off_is_certain(
            lambda delivery: Guessing(get("hermes"), delivery=delivery), text, text.index("\\")
        )


@pytest.mark.parametrize("text", ['{"a": 1 x', '{"a": "x"b', '{"a" 1', '["a"', '{"a": "b"}}'])
def test_what_no_object_begins_with_is_seen(text: str) -> None:
    assert not laws.begins_an_object(text)


@pytest.mark.parametrize(
    "text", ["", "{", '{"a', '{"a":', '{"a": "\\u12', '{"a": [tr', '{"a": -1.', '{"a": [1, ']
)
def test_what_an_object_begins_with_is_seen(text: str) -> None:
    assert laws.begins_an_object(text)


class Stuck(Parser):
    """Gives every call the index 0, as an engine once did."""

    def feed(self, text: str) -> list[Event]:
        return [
            CallStart(0, event.name) if isinstance(event, CallStart) else event
            for event in super().feed(text)
        ]


def test_a_parser_that_repeats_an_index_breaks_law_3() -> None:
    case = next(c for c in cases_of("hermes") if c.name == "parallel_calls")
    with pytest.raises(AssertionError):
        laws.calls_are_well_formed(parse(Stuck(get("hermes")), [case.text]))


# Law 4: alive.


@pytest.mark.parametrize("name", names())
@quick(max_examples=10)
@given(text=st.text("ab <>|/`\n.:_", max_size=120))
def test_plain_text_is_not_held(name: str, text: str) -> None:
    limit = get(name).framing.hold_limit()
    laws.text_is_alive(partial(parser_for, name, standard_tools()), text, limit)


class Patient(Parser):
    """Waits for the end of the line."""

    def feed(self, text: str) -> list[Event]:
        self._reader.add(text)
        return super().feed("") if text == "\n" else []


def test_a_parser_that_waits_for_a_line_breaks_law_4() -> None:
    with pytest.raises(AssertionError):
        laws.text_is_alive(lambda: Patient(get("hermes")), "a" * 40, 20)


# Law 5: linear.


def _long_call(name: str, size: int) -> str:
    content = ("x = [1] # 'a' \"b\" < c > {d}\n" * (size // 28 + 1))[:size]
    call = RenderedCall("write_file", {"path": "a", "content": content}, "0")
    return render_calls(name, [call])


@pytest.mark.timed
@pytest.mark.parametrize("name", names())
def test_a_long_argument_costs_linear_time(name: str) -> None:
    make = partial(parser_for, name, standard_tools())
    laws.time_is_linear(make, partial(_long_call, name), 12_000, chunk=8)


def _long_quoting_call(name: str, length: int) -> str:
    quoted = render_calls(name, [RenderedCall("look", {"at": "x"}, "0")])
    content = (f"{quoted}\n" + 'a "word" < b\n' * (length // 12 + 1))[:length]
    call = RenderedCall("write_file", {"path": "a", "content": content}, "0")
    return render_calls(name, [call])


@pytest.mark.timed
@pytest.mark.parametrize("name", ["qwen3_coder", "glm45", "minimax_m2"])
def test_a_long_argument_held_until_its_end_costs_linear_time(name: str) -> None:
    make = partial(parser_for, name, standard_tools())
    laws.time_is_linear(make, partial(_long_quoting_call, name), 200_000, chunk=4)


def _many_arguments(name: str, count: int) -> str:
    return render_calls(name, [RenderedCall("f", {f"key_{i}": "v" for i in range(count)}, "0")])


@pytest.mark.timed
@pytest.mark.parametrize("name", ["qwen3_coder", "glm45", "pythonic", "gemma4"])
def test_many_arguments_cost_linear_time(name: str) -> None:
    make = partial(parser_for, name, standard_tools())
    laws.time_is_linear(make, partial(_many_arguments, name), 2_000, chunk=1 << 20)


@pytest.mark.timed
@pytest.mark.parametrize("name", names())
def test_a_flood_of_markers_costs_linear_time(name: str) -> None:
    markers = [*get(name).framing.markers(), '[a({"', "```"]
    flood = "".join(f'{marker}{{"a' for marker in markers)
    make = partial(parser_for, name, standard_tools(), delivery="whole")
    # Where a flood ends decides how it is read, so short and long ones have to end alike.
    for end in ("", flood[: len(flood) // 2]):

        def written(length: int, end: str = end) -> str:
            return flood * (length // len(flood)) + end

        laws.time_is_linear(make, written, 16_000, chunk=1 << 20)


class Rescanning(Parser):
    """Reads everything again with each piece."""

    def feed(self, text: str) -> list[Event]:
        self._all = getattr(self, "_all", "") + text
        parse(Parser(get("hermes")), chunks(self._all, 32))
        return super().feed(text)


@pytest.mark.timed
def test_a_parser_that_reads_everything_again_breaks_law_5() -> None:
    with pytest.raises(AssertionError):
        laws.time_is_linear(
            lambda: Rescanning(get("hermes")), partial(_long_call, "hermes"), 6_000, chunk=32
        )


# Law 6: one instance per turn, no state, nothing evaluated.


@pytest.mark.parametrize("case", [c for c in all_cases() if c.name == "parallel_calls"], ids=str)
def test_turns_are_independent(case: Case) -> None:
    laws.turns_are_independent(case.parser, case.text)


def test_parsers_that_share_state_break_law_6() -> None:
    case = next(c for c in cases_of("hermes") if c.name == "parallel_calls")
    makers = [case.parser(), *[case.parser()] * 2]
    with pytest.raises(AssertionError):
        laws.turns_are_independent(lambda: makers.pop(0), case.text)


def _sources() -> list[str]:
    root = files("toolwire.formats")
    folders = [root, root / "engines", root / "catalog"]
    return [p.read_text("utf-8") for f in folders for p in f.iterdir() if p.name.endswith(".py")]


def test_nothing_in_the_source_evaluates_text() -> None:
    for source in _sources():
        laws.source_is_pure(source)


@pytest.mark.parametrize("source", ["eval(x)", "import ast", "def f():\n    global x\n    x = 1"])
def test_source_that_evaluates_or_keeps_state_breaks_law_6(source: str) -> None:
    with pytest.raises(AssertionError):
        laws.source_is_pure(source)


# Law 7: what is written is read.

plain = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=20)
weathers = st.fixed_dictionaries(
    {"city": plain},
    optional={
        "days": st.integers(-(10**9), 10**9),
        "metric": st.booleans(),
        "tags": st.lists(plain, max_size=3),
        "opts": st.dictionaries(st.sampled_from(["a", "b"]), st.lists(st.integers()), max_size=2),
        "note": st.none(),
    },
)


def _round_trip(
    name: str, calls: list[tuple[str, Any]], write: Callable[..., str] = render_calls
) -> None:
    rendered = [RenderedCall(n, a, provider_id(name, n, i)) for i, (n, a) in enumerate(calls)]
    found = extract(name, write(name, rendered), standard_tools())
    assert [(c.name, json.loads(c.arguments)) for c in found.calls] == calls
    assert found.content is None


@pytest.mark.parametrize("name", names())
@quick(max_examples=10)
@given(weather=weathers, second=st.sampled_from([("refresh", {}), ("get_time", {"tz": "CET"})]))
def test_what_is_written_is_read(name: str, weather: dict[str, Any], second: Any) -> None:
    _round_trip(name, [("get_weather", weather), second])


def test_a_writer_that_drops_a_call_breaks_law_7() -> None:
    with pytest.raises(AssertionError):
        _round_trip(
            "hermes",
            [("refresh", {}), ("refresh", {})],
            lambda name, calls: render_calls(name, calls[:1]),
        )
