"""A call at the end of reasoning that was never closed is looked for in one reading."""

import pytest

from toolwire.formats import OutputDetector, get
from toolwire.formats.detection.signatures import signatures
from toolwire.formats.detection.trial import way_of_calling
from toolwire.formats.detection.unclosed_reasoning import UnclosedReasoning
from toolwire.protocol.events import CallStart, Event, ReasoningDelta
from toolwire.protocol.tools import ToolSpec

TOOLS = (ToolSpec("f"),)
CALL = '[f(x="a")]'


class Counted(OutputDetector):
    """Counts how often it is fed."""

    fed = 0

    def feed(self, text: str) -> list[Event]:
        Counted.fed += 1
        return super().feed(text)


def found_in(text: str) -> tuple[list[str], int]:
    """The tools that are called at the end of this reasoning, and how often text was fed."""
    Counted.fed = 0
    reasoning = UnclosedReasoning(lambda: Counted(TOOLS))
    reasoning.see(text, [ReasoningDelta(text)])
    events, _ = reasoning.calls() or ([], None)
    return [event.name for event in events if isinstance(event, CallStart)], Counted.fed


def test_a_call_at_the_end_is_found() -> None:
    assert found_in(f"I look.\n{CALL}\n")[0] == ["f"]


def test_reasoning_that_ends_in_a_word_is_not_read_again() -> None:
    assert found_in(f"I look.\n{CALL}\nor not, ") == ([], 0)


@pytest.mark.parametrize("text", ["a (b) " * 2000 + "(c)", "<tool_call>" * 800, "\n<a>" * 2000])
def test_reasoning_without_a_call_is_read_again_in_one_piece(text: str) -> None:
    assert found_in(text) == ([], 1)


def test_a_call_behind_a_few_drafts_is_found() -> None:
    assert found_in(f"{CALL} or\n" * 8 + CALL)[0] == ["f"]


def test_reading_stops_behind_many_drafts() -> None:
    called, fed = found_in("[TOOL_CALLS]f[ARGS]{}<tool_call>" * 250 + "`")
    assert called == []
    assert fed < 500


def test_formats_that_read_calls_alike_are_tried_once() -> None:
    hermes = way_of_calling(get("hermes"))
    assert {way_of_calling(get(name)) for name in ("granite4", "trinity", "ernie45")} == {hermes}
    assert hermes not in {way_of_calling(get(name)) for name in ("granite", "hf", "glm45")}
    candidates = signatures().candidates("<tool_call>")
    assert len({way_of_calling(one) for one in candidates}) < 0.7 * len(candidates)
