"""A list that is named `tool_calls` is one of calls, whoever knows the tools in it."""

import pytest

from toolwire.formats import parser_for
from toolwire.protocol.events import ArgsDelta, CallStart, Event, TextDelta
from toolwire.protocol.tools import ToolSpec

TOOLS = [ToolSpec("f", "", {"type": "object"})]
LISTED = (
    '{"tool_calls": [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {"y": 2}}]}'
)


def read(text: str, *, pieces: bool) -> tuple[list[str], str, str]:
    """The names that were called, their arguments, and the text beside them."""
    parser = parser_for("generic", TOOLS)
    events: list[Event] = []
    for piece in text if pieces else [text]:
        events += parser.feed(piece)
    events += parser.finish()
    names = [event.name for event in events if isinstance(event, CallStart)]
    arguments = "".join(event.json for event in events if isinstance(event, ArgsDelta))
    return names, arguments, "".join(e.text for e in events if isinstance(e, TextDelta))


@pytest.mark.parametrize("pieces", [True, False])
def test_an_unknown_tool_in_it_is_called_and_no_text(pieces: bool) -> None:
    assert read(LISTED, pieces=pieces) == (["f", "g"], '{"x": 1}{"y": 2}', "")


@pytest.mark.parametrize("pieces", [True, False])
def test_an_object_that_only_looks_like_a_call_stays_text(pieces: bool) -> None:
    text = '{"name": "g", "arguments": {"y": 2}}'
    assert read(text, pieces=pieces) == ([], "", text)
