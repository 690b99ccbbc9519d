"""A long argument costs time by its length, also if it comes one character at a time (R3).

CPU time, the least of two runs. In small size the bars have room for a busy machine; in full size
they are those of docs/hardening.md.
"""

import time
from typing import get_args

import pytest
from tests.e2e.gateway.sizes import FULL, size
from tests.hard.figures import note

from toolwire.formats import Delivery, RenderedCall, names, parser_for, render_calls
from toolwire.protocol.tools import ToolSpec

MIB = 1 << 20
ARGUMENT = size(MIB // 64, MIB)
ROOM = 1 if FULL else 4
MOST_PER_ARGUMENT = 5.0 * ARGUMENT / MIB * ROOM
LONGEST_PIECE = 0.020 * ROOM
TOOL = ToolSpec("f", None, {"type": "object", "properties": {"text": {"type": "string"}}})


def argument_pieces(name: str, delivery: Delivery, length: int) -> tuple[float, float]:
    """Seconds for an argument in pieces of one character, and for the longest piece."""
    text = render_calls(name, [RenderedCall("f", {"text": "word " * (length // 5)}, "0")])
    parser = parser_for(name, [TOOL], delivery=delivery)
    longest, began = 0.0, time.thread_time()
    for at in range(0, len(text), 512):
        since = time.thread_time()
        for character in text[at : at + 512]:
            parser.feed(character)
        longest = max(longest, time.thread_time() - since)
    parser.finish()
    return time.thread_time() - began, longest


@pytest.mark.timed
@pytest.mark.timeout(size(240, 3600))
@pytest.mark.parametrize("delivery", get_args(Delivery))
@pytest.mark.parametrize("name", names())
def test_a_long_argument_in_single_characters_costs_time_by_its_length(
    name: str, delivery: Delivery
) -> None:
    tried = [argument_pieces(name, delivery, length) for length in (ARGUMENT // 2, ARGUMENT) * 2]
    half = min(taken for taken, _ in tried[::2])
    whole, longest = (min(figures) for figures in zip(*tried[1::2], strict=True))
    assert whole <= MOST_PER_ARGUMENT
    assert whole <= 2.3 * half * (1 if FULL else 1.6) + 0.01
    assert longest <= LONGEST_PIECE
    note(f"{name} {delivery} {whole:.1f} s, longest 512 pieces {longest * 1000:.0f} ms")
