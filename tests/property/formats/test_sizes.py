"""What a model writes costs time by its length, whatever it is (R2).

In full size the bars are those of docs/hardening.md; in small size some have room for times that
are too short to be exact.
"""

import re
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import get_args

import pytest
from floods import OPENERS, own, repeat
from test_patterns import MAY_BACKTRACK, every_pattern
from tests.e2e.gateway.sizes import FULL, size
from tests.hard.figures import note
from tests.timing import below, cpu, in_a_row, least

from toolwire.formats import (
    Delivery,
    OutputDetector,
    RenderedCall,
    names,
    parser_for,
    render_calls,
)
from toolwire.protocol.tools import ToolSpec

MIB = 1 << 20
FLOOD = size(MIB // 16, MIB)
ONE_PATTERN = size(MIB // 64, MIB)
ROOM = 1 if FULL else 4
PER_MIB = 0.050 * ROOM
PER_FLOOD = 2.0 * ROOM
"""Seconds for a flood while the format is being detected: the trials, and as calls afterwards."""
PER_QUOTED = 2.0 * FLOOD / MIB * ROOM
"""Seconds for a flood of calls that are cut off in quotes, of which each might be a mention."""
TOOL = ToolSpec("f", None, {"type": "object", "properties": {"text": {"type": "string"}}})

COMMENTS = "#" + '"#' * 500 + "\n"
CALL = '<tool_call>{"name": "f", "arguments": {"text": "x"}}</tool_call>'


def beginnings(pattern: str) -> set[str]:
    """Floods that a pattern may begin to match: its own letters, and what models begin with."""
    letters = "".join(re.findall(r"[\w<>|{}\[\]\"'/ ]+", pattern.replace("\\", "")))[:40]
    return {text for text in (letters, letters[:1], letters[:4], *OPENERS[:8]) if text}


def find_all(pattern: re.Pattern[str], text: str) -> None:
    deque(pattern.finditer(text), maxlen=0)


def judged(pattern: re.Pattern[str], flood: str) -> tuple[float, bool]:
    """The CPU time for a MiB of a flood, and whether that is too much."""
    written, limit = repeat(flood, ONE_PATTERN), PER_MIB * ONE_PATTERN / MIB + 0.005
    find = partial(cpu, partial(find_all, pattern, written))
    whole, too_much = find(), False
    if whole > limit:
        # It may match everywhere, or it is made for one place and not for a search: then only
        # growth is wrong.
        bar = 2.5 * (1 if FULL else 1.3)
        wholes = chain((whole,), iter(find, None))
        find_half = partial(cpu, partial(find_all, pattern, written[: ONE_PATTERN // 2]))

        def fits(whole: float, half: float) -> bool:
            return whole <= max(limit, bar * half)

        runs = partial(next, wholes), in_a_row(2, find_half)
        whole, half = least(*runs, enough=fits, rounds=size(2, 1))
        too_much = not fits(whole, half)
    return whole / ONE_PATTERN * MIB, too_much


@pytest.mark.timed
@pytest.mark.timeout(size(240, 3600))
def test_every_pattern_is_fast_on_a_flood_of_its_own_beginnings() -> None:
    slow, worst = [], 0.0
    for module, text, flags in every_pattern():
        if any(module == m and text.startswith(start) for m, start in MAY_BACKTRACK):
            continue
        for flood in beginnings(text):
            taken, too_much = judged(re.compile(text, flags), flood)
            worst = max(worst, taken)
            if too_much:
                slow.append((module, text[:60], flood, round(taken, 3)))
    note(f"{len(every_pattern())} patterns, slowest {worst * 1000:.0f} ms per MiB")
    assert slow == []


@pytest.mark.timed
@pytest.mark.parametrize(("pattern", "flood"), [("a*b", "a"), (r"<[^>]*>", "<"), (r"\s+x", " ")])
def test_a_pattern_that_takes_time_by_the_square_is_seen(
    monkeypatch: pytest.MonkeyPatch, pattern: str, flood: str
) -> None:
    monkeypatch.setitem(globals(), "ONE_PATTERN", MIB // 128)
    assert judged(re.compile(pattern), flood)[1]


def costs_by_length(
    read: Callable[[int], object], length: int = FLOOD, *, period: int = 1
) -> tuple[float, bool]:
    """The CPU time for a flood of that length, and whether half of it takes about half the time.

    Both end at the same place of their `period`, because a flood that ends inside an opener may
    cost a tenth of one that ends behind it.
    """

    def fits(whole: float, half: float) -> bool:
        return whole <= 2.5 * half + (0 if FULL else 0.001)

    half = length // 2 + (length - length // 2) % period
    read(half // 64)  # what is made once, such as the expressions of a format, is no cost of length
    runs = partial(cpu, partial(read, length)), in_a_row(2, partial(cpu, partial(read, half)))
    taken = least(*runs, enough=fits, rounds=size(2, 1))
    return taken[0], fits(*taken)


def test_what_is_made_once_is_made_before_anything_is_measured() -> None:
    lengths: list[int] = []
    costs_by_length(lengths.append, period=7)
    assert lengths[0] < FLOOD // 100
    assert {length % 7 for length in lengths[1:]} == {FLOOD % 7}


def read(name: str, flood: str, length: int, piece: int, *, delivery: Delivery = "live") -> None:
    """Read a flood of a model whose format is known."""
    parser = parser_for(name, [TOOL], delivery=delivery)
    written = repeat(flood, length)
    for at in range(0, length, piece):
        parser.feed(written[at : at + piece])
    parser.finish()


@pytest.mark.timed
@pytest.mark.timeout(size(240, 3600))
@pytest.mark.parametrize("name", names())
def test_a_flood_costs_time_by_its_length(name: str) -> None:
    for flood in (own(name) or list(OPENERS))[: size(2, 8)]:
        period = 2 * len(flood)
        assert costs_by_length(lambda n, f=flood: read(name, f, n, 4096), period=period)[1], flood


@pytest.mark.timed
@pytest.mark.parametrize(
    ("name", "flood"),
    [
        ("k2_horizon", '<ifm|tool_calls>{"'),
        ("nemotron_deci", "`</TOOLCALL>"),
        ("hermes", f'"{CALL}" '),
        ("hermes", f"`{CALL}` "),
    ],
)
def test_what_may_be_quoted_is_not_looked_through_for_every_marker(name: str, flood: str) -> None:
    """In one piece, as a whole answer comes: what is looked ahead at is copied, all of it once."""
    period = 2 * len(flood)
    assert costs_by_length(lambda n: read(name, flood, n, n), MIB, period=period)[1]


@pytest.mark.timed
@pytest.mark.parametrize(
    ("name", "begun", "flood"),
    [
        (
            "qwen3_coder",
            "<tool_call>\n<function=f>\n<parameter=text>\n<tool_call> </function></tool_call>",
            f"</parameter><|eot_id|>{' ' * 40}x",
        ),
        ("pythonic", '[f(text="', COMMENTS),
        ("gemma3", '```tool_code\nf(text="', COMMENTS),
        ("cohere_command3", "`", "<co"),
    ],
)
def test_what_may_end_a_value_or_span_is_not_looked_at_again_and_again(
    name: str, begun: str, flood: str
) -> None:
    def reading(length: int) -> None:
        parser = parser_for(name, [TOOL])
        parser.feed(begun + repeat(flood, length))
        parser.finish()

    taken, fits = costs_by_length(reading, MIB, period=2 * len(flood))
    assert fits
    assert taken <= PER_FLOOD


@pytest.mark.timed
@pytest.mark.timeout(size(240, 3600))
@pytest.mark.parametrize("delivery", get_args(Delivery))
@pytest.mark.parametrize("name", names())
def test_calls_that_are_cut_off_in_quotes_cost_little(name: str, delivery: Delivery) -> None:
    call = render_calls(name, [RenderedCall("f", {"text": "a", "o": {"b": 1}}, "0")])
    for opened, closed in (('"', ""), ("`", " ` "), ("'", ""), ("«", "» ")):
        flood = opened + call[: len(call) * 2 // 3] + closed
        reading = partial(read, name, flood, FLOOD, 4096, delivery=delivery)
        assert below(PER_QUOTED, reading) <= PER_QUOTED, flood


@pytest.mark.timed
def test_a_reader_that_takes_time_by_the_square_is_seen() -> None:
    def read_again(length: int) -> None:
        for end in range(4096, length, 4096):
            read("hermes", "<tool_call>", end, end)

    assert not costs_by_length(read_again, MIB // 2)[1]


QUOTED = (
    f"`{CALL}` ",
    f"\n```\n{CALL}\n```\n",
    f"```\n{CALL}\n```\n",
    "```\n",
    "```json\nx",
    "```a\n",
)
"""Calls that are only mentioned, and answers of code fences."""


def detecting(flood: str, length: int, piece: int) -> None:
    """Read a flood of a model whose format is unknown."""
    detector = OutputDetector([TOOL], fences=True)
    written = repeat(flood, length)
    for at in range(0, length, piece):
        detector.feed(written[at : at + piece])
    detector.finish()


@pytest.mark.timed
@pytest.mark.timeout(size(240, 3600))
@pytest.mark.parametrize("name", [*names(), "mentions"])
def test_a_flood_while_the_format_is_being_detected_costs_time_by_its_length(name: str) -> None:
    worst = 0.0
    floods = QUOTED if name == "mentions" else (own(name) or list(OPENERS))[: size(2, 8)]
    for flood in floods:
        for piece in (4096, FLOOD):
            period = 2 * len(flood)
            whole, fits = costs_by_length(
                lambda n, f=flood, p=piece: detecting(f, n, p), period=period
            )
            assert fits, flood
            worst = max(worst, whole)
    assert worst <= PER_FLOOD
    note(f"{name} while detecting {worst * 1000:.0f} ms")
