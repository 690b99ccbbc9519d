"""Events that are held back go out in few pieces (R17)."""

import pytest

from toolwire.gateway.answer.held import MOST_HELD
from toolwire.gateway.answer.policy import Policy
from toolwire.protocol.events import CallStart, Event, ReasoningDelta, TextDelta, TurnEnd
from toolwire.protocol.tools import ToolChoice

MANY = 100_000


def fed(policy: Policy, event: Event, last: Event) -> list[Event]:
    """What goes out at the end of a flood."""
    for _ in range(MANY):
        assert policy.feed([event]) == []
    return policy.feed([last])


@pytest.mark.parametrize("event", [TextDelta("ab"), ReasoningDelta("ab")])
def test_text_before_a_required_call_is_joined(event: TextDelta | ReasoningDelta) -> None:
    policy = Policy(ToolChoice("required"), parallel=True, tools=["f"])
    *out, call = fed(policy, event, CallStart(0, "f", "call_1"))
    assert isinstance(call, CallStart)
    assert len(out) < 2000
    assert "".join(piece.text for piece in out if type(piece) is type(event)) == "ab" * MANY


def test_white_space_before_the_end_is_joined() -> None:
    *out, _ = fed(Policy(ToolChoice(), parallel=True), TextDelta("\n"), TurnEnd("stop"))
    assert len(out) < 2000
    assert "".join(piece.text for piece in out if isinstance(piece, TextDelta)) == "\n" * MANY


def test_what_cannot_be_joined_is_not_held_for_ever() -> None:
    policy = Policy(ToolChoice("required"), parallel=True, tools=["f"])
    sizes = [len(policy.feed([TextDelta("a", b"{}")])) for _ in range(MANY)]
    assert sum(sizes) == MANY
    assert max(sizes) < 2 * MOST_HELD + 2048
