"""A text as the page gets it: found, coloured, in chunks, and with reasons."""

import pytest

from toolwire.formats import names
from toolwire.inspector.reading import MOST_CHUNKS, read_text
from toolwire.protocol.tools import ToolSpec

TOOLS = (
    ToolSpec("get_weather", "", {"type": "object", "properties": {"city": {"type": "string"}}}),
)
CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Bern"}}</tool_call>'


def test_the_format_is_detected_and_said_why() -> None:
    read = read_text("auto", CALL, TOOLS)
    assert (read["format"], read["detected"]) == ("hermes", True)
    assert "get_weather" in read["why"]
    assert read["calls"] == [{"name": "get_weather", "arguments": '{"city": "Bern"}', "id": None}]


def test_each_event_has_the_chunk_that_made_it_certain() -> None:
    read = read_text("hermes", "Yes. " + CALL, TOOLS, size=10)
    assert read["chunks"][-1] == len("Yes. " + CALL)
    (last,) = [event for event in read["events"] if event["event"] == "CallEnd"]
    end = ("Yes. " + CALL).index("}}") + 1
    assert last["chunk"] * 10 < end <= last["chunk"] * 10 + 10
    assert read["events"][0] == {"chunk": 0, "event": "TextDelta", "text": "Yes. "}


def test_offsets_count_as_javascript_does() -> None:
    text = "😀" + CALL
    read = read_text("hermes", text, TOOLS, size=1)
    units = text.encode("utf-16-le")
    pieces = [units[2 * s : 2 * e].decode("utf-16-le") for s, e, *_ in read["stretches"]]
    assert "".join(pieces) == text
    assert "get_weather" in pieces
    assert read["chunks"][0] == 2


def test_no_format_finds_a_call_so_the_reasons_of_those_that_could_are_given() -> None:
    read = read_text("auto", '<tool_call>{"name": "get_weather", oops</tool_call>', TOOLS)
    assert not read["detected"]
    assert read["calls"] == []
    assert f"none of {len(names())} formats" in read["why"]
    first = read["reasons"][0]
    assert first["formats"][0] == "hermes"
    assert len(first["formats"]) > 1
    assert first["text"].startswith("<tool_call>")
    whys = [reason["why"] for reason in read["reasons"]]
    assert len(set(whys)) == len(whys)


def test_a_call_that_breaks_off_is_told_to_be_incomplete_in_a_stream() -> None:
    read = read_text("hermes", CALL.replace('"}}', ""), TOOLS)
    assert read["calls"] == []
    assert read["incomplete"] == ["get_weather"]
    assert read_text("hermes", CALL, TOOLS)["incomplete"] == []


def test_a_format_that_finds_none_names_the_one_that_does() -> None:
    read = read_text("mistral", CALL, TOOLS)
    assert read["reasons"][-1]["formats"] == ["hermes"]


def test_a_long_text_has_no_more_chunks_than_a_page_can_hold() -> None:
    read = read_text("hermes", "x" * (MOST_CHUNKS + 1), size=1)
    assert read["chunk_size"] == 2
    assert len(read["chunks"]) <= MOST_CHUNKS


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_a_text_of_nothing_is_read_as_well(text: str) -> None:
    assert read_text("auto", text, TOOLS)["calls"] == []


def test_an_unknown_format_is_told() -> None:
    with pytest.raises(KeyError, match="no format is called"):
        read_text("nonsense", "x")
