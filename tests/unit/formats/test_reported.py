"""A call that cannot be read is reported with the text that it would otherwise be."""

import pytest

from toolwire.conformance import cases_of
from toolwire.formats import Delivery, names, parser_for
from toolwire.protocol.events import ArgsDelta, CallEnd, CallStart, Event, TextDelta
from toolwire.protocol.tools import ToolSpec

TOOLS = [ToolSpec("read", None, {"type": "object", "properties": {"p": {"type": "string"}}})]


def told(events: list[Event]) -> tuple[str, list[list[str]], list[tuple[str, str, bool]]]:
    """The text with that of unread calls, the calls, and the unread ones."""
    text, calls, unread = "", list[list[str]](), list[tuple[str, str, bool]]()
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, CallStart):
            calls.append([event.name, ""])
        elif isinstance(event, ArgsDelta):
            calls[-1][1] += event.json
        elif isinstance(event, CallEnd) and event.unread:
            text += event.unread
            unread.append((calls.pop()[0], event.unread, event.cut))
    return text, calls, unread


def read(
    name: str, text: str, tools: list[ToolSpec], delivery: Delivery = "reported", size: int = 0
) -> tuple[str, list[list[str]], list[tuple[str, str, bool]]]:
    parser = parser_for(name, tools, delivery=delivery)
    size = size or len(text) or 1
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = [event for piece in pieces for event in parser.feed(piece)]
    return told(events + parser.finish())


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_it_is_whole_delivery_but_for_calls_that_cannot_be_read(name: str) -> None:
    unread = 0
    for case in cases_of(name)[::2]:
        for text in (case.model_output, case.model_output[: 2 * len(case.model_output) // 3]):
            found = read(name, text, list(case.tools))
            assert found == read(name, text, list(case.tools), size=1), text
            assert found[:2] == read(name, text, list(case.tools), "whole")[:2], text
            unread += len(found[2])
    assert unread


@pytest.mark.parametrize(
    ("behind", "cut"), [('{"p": "a" "b"}}\n</tool_call>', False), ('{"p": "a', True)]
)
def test_it_is_known_whether_the_text_ends_within_it(behind: str, cut: bool) -> None:
    text = f'<tool_call>\n{{"name": "read", "arguments": {behind}'
    said, calls, ((name, unread, is_cut),) = read("hermes", f"Hm.\n{text}", TOOLS)
    assert (said, calls, name, is_cut) == (f"Hm.\n{text}", [], "read", cut)
    assert text.startswith(unread)


def test_a_quotation_and_a_draft_in_reasoning_are_no_calls() -> None:
    text = '<tool_call>\n{"name": "read", "arguments": {"p": "a" "b"}}\n</tool_call>'
    for around in (f"Write `{text}`.", f"<think>Maybe {text} or not</think>No."):
        assert read("hermes", around, TOOLS)[2] == []
