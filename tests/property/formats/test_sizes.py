"""What a model writes costs time by its length, whatever it is (R2).

CPU time of this process, the least of a few runs. In small size the bars have room for a busy
machine; in full size they are those of docs/hardening.md.
"""

import re
import time
from collections.abc import Callable
from functools import partial

import pytest
from floods import OPENERS, own, repeat
from test_patterns import MAY_BACKTRACK, every_pattern
from tests.e2e.gateway.sizes import FULL, size
from tests.hard.figures import note

from toolwire.formats import OutputDetector, names, parser_for
from toolwire.protocol.tools import ToolSpec

MIB = 1 << 20
FLOOD = size(MIB // 16, MIB)
HALVES = (FLOOD // 2, FLOOD // 2 - 999)
"""Two, because a flood that ends inside an opener may cost a tenth of one that ends behind it."""
ONE_PATTERN = size(MIB // 64, MIB)
ROOM = 1 if FULL else 4
PER_MIB = 0.050 * ROOM
PER_FLOOD = 2.0 * ROOM
"""Seconds for a flood while the format is being detected: the trials, and as calls afterwards."""
TOOL = ToolSpec("f", None, {"type": "object", "properties": {"text": {"type": "string"}}})


def least(action: Callable[[], object], times: int = 3) -> float:
    """The CPU time that it takes, without the rest of the machine in it."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        action()
        taken.append(time.process_time() - began)
    return min(taken)


def beginnings(pattern: str) -> set[str]:
    """Floods that a pattern may begin to match: its own letters, and what models begin with."""
    letters = "".join(re.findall(r"[\w<>|{}\[\]\"'/ ]+", pattern.replace("\\", "")))[:40]
    return {text for text in (letters, letters[:1], letters[:4], *OPENERS[:8]) if text}


def matched(pattern: re.Pattern[str], text: str) -> float:
    """The CPU time of finding all matches."""
    return least(lambda: sum(1 for _ in pattern.finditer(text)), size(1, 3))


def judged(pattern: re.Pattern[str], flood: str) -> tuple[float, bool]:
    """The CPU time for a MiB of a flood, and whether that is too much."""
    written = repeat(flood, ONE_PATTERN)
    taken = matched(pattern, written)
    if taken <= PER_MIB * ONE_PATTERN / MIB + 0.005:
        return taken / ONE_PATTERN * MIB, False
    # One that matches everywhere pays for its matches: then only growth is wrong.
    half = least(lambda: sum(1 for _ in pattern.finditer(written[: ONE_PATTERN // 2])))
    whole = least(lambda: sum(1 for _ in pattern.finditer(written)))
    return whole / ONE_PATTERN * MIB, whole > 2.5 * half * (1 if FULL else 1.3)


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
    note(f"{len(every_pattern())} patterns, slowest {worst * 1000:.0f} ms per MiB with its matches")
    assert slow == []


@pytest.mark.timed
@pytest.mark.parametrize(("pattern", "flood"), [("a*b", "a"), (r"<[^>]*>", "<"), (r"\s+x", " ")])
def test_a_pattern_that_takes_time_by_the_square_is_seen(
    monkeypatch: pytest.MonkeyPatch, pattern: str, flood: str
) -> None:
    monkeypatch.setitem(globals(), "ONE_PATTERN", MIB // 64)
    assert judged(re.compile(pattern), flood)[1]


@pytest.mark.timed
@pytest.mark.timeout(size(240, 3600))
@pytest.mark.parametrize("name", names())
def test_a_flood_costs_time_by_its_length(name: str) -> None:
    for flood in (own(name) or list(OPENERS))[: size(2, 8)]:

        def read(length: int, flood: str = flood) -> None:
            parser = parser_for(name, [TOOL])
            written = repeat(flood, length)
            for at in range(0, length, 4096):
                parser.feed(written[at : at + 4096])
            parser.finish()

        half = max(least(partial(read, length)) for length in HALVES)
        whole = least(lambda: read(FLOOD))
        assert whole <= 2.5 * half * ROOM + 0.02, flood


CALL = '<tool_call>{"name": "f", "arguments": {"text": "x"}}</tool_call>'
QUOTED = (f"`{CALL}` ", f"\n```\n{CALL}\n```\n", f"```\n{CALL}\n```\n", "```\n", "```json\nx")
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
            half = max(least(partial(detecting, flood, half, piece)) for half in HALVES)
            whole = least(partial(detecting, flood, FLOOD, piece))
            assert whole <= 2.5 * half * ROOM + 0.02, flood
            worst = max(worst, whole)
    assert worst <= PER_FLOOD
    note(f"{name} while detecting {worst * 1000:.0f} ms")
