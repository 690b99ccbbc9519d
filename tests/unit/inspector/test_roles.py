"""Which characters of a text became what, for formats that write calls in different ways."""

import pytest

from toolwire.conformance import TestCase, cases_of
from toolwire.conformance.adapters import to_tools
from toolwire.formats import CallStart, Trace, names, parser_for
from toolwire.inspector.roles import Placed, Stretch, stretches
from toolwire.protocol.tools import ToolSpec

WEATHER = (
    ToolSpec("get_weather", "", {"type": "object", "properties": {"city": {"type": "string"}}}),
    ToolSpec("get_time", "", {"type": "object", "properties": {"tz": {"type": "string"}}}),
)
KINDS_OF_CASES = 4
WITHOUT_A_NAME = {"kimi_k2/counter_header"}
"""The name is not in the text, but follows from the only tool that takes these arguments."""


def read(format_name: str, text: str, tools: tuple[ToolSpec, ...] = WEATHER) -> list[Stretch]:
    return placed(format_name, text, tools)[1]


def placed(
    format_name: str, text: str, tools: tuple[ToolSpec, ...]
) -> tuple[list[Placed], list[Stretch]]:
    trace = Trace()
    parser = parser_for(format_name, tools, trace=trace)
    events = [(at, event) for at, char in enumerate(text, 1) for event in parser.feed(char)]
    events += [(len(text), event) for event in parser.finish()]
    return events, stretches(text, trace.spans, events)


def marked(text: str, read: list[Stretch], role: str) -> list[str]:
    return [text[one.start : one.end] for one in read if one.role == role]


@pytest.mark.parametrize(
    ("format_name", "text", "arguments"),
    [
        (
            "hermes",
            '<tool_call>{"name": "get_weather", "arguments": {"city": "Bern"}}</tool_call>',
            ['{"city": "Bern"}'],
        ),
        (
            "qwen3_coder",
            "<tool_call>\n<function=get_weather>\n<parameter=city>\nNew York\n</parameter>\n"
            "</function>\n</tool_call>",
            ["city", "New York"],
        ),
        (
            "minimax_m2",
            '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Bern'
            "</parameter>\n</invoke>\n</minimax:tool_call>",
            ["city", "Bern"],
        ),
        (
            "glm45",
            "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>a\nb</arg_value>\n"
            "</tool_call>",
            ["city", "a\nb"],
        ),
        ("pythonic", "[get_weather(city='Bern')]", ["city", "Bern"]),
        ("kimi_k2", None, ['{"city": "Bern"}']),
    ],
)
def test_a_name_and_arguments_are_found_in_every_kind_of_call(
    format_name: str, text: str | None, arguments: list[str]
) -> None:
    text = text or (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0"
        '<|tool_call_argument_begin|>{"city": "Bern"}<|tool_call_end|><|tool_calls_section_end|>'
    )
    found = read(format_name, text)
    assert marked(text, found, "name") == ["get_weather"]
    assert marked(text, found, "arguments") == arguments


def test_several_calls_each_have_their_own_name() -> None:
    text = "[get_weather(city='get_time'), get_time(tz='CET'), get_time(tz='get_time')]"
    found = read("pythonic", text)
    assert marked(text, found, "name") == ["get_weather", "get_time", "get_time"]
    assert marked(text, found, "arguments") == ["city", "get_time", "tz", "CET", "tz", "get_time"]


def test_text_reasoning_and_markers_are_told_apart() -> None:
    text = "<think>hm</think>Yes.<tool_call>oops</tool_call>"
    found = read("hermes", text)
    assert marked(text, found, "reasoning") == ["hm"]
    assert marked(text, found, "marker")[:2] == ["<think>", "</think>"]
    assert "Yes." in "".join(marked(text, found, "text"))
    assert any(one.why for one in found if one.role == "text")


def some_cases() -> list[TestCase]:
    """A few well-formed calls of each format."""
    return [
        case
        for name in names()
        for case in [
            case
            for case in cases_of(name)
            if case.expected_tools_called and not case.malformed and not case.streaming_mode
        ][:KINDS_OF_CASES]
    ]


@pytest.mark.slow
def test_the_name_of_every_call_in_the_kits_cases_is_found() -> None:
    wrong = []
    for case in some_cases():
        text = case.model_output
        events, found = placed(case.parser_name, text, tuple(to_tools(case.tools)))
        called = [event.name for _, event in events if isinstance(event, CallStart)]
        assert "".join(text[one.start : one.end] for one in found) == text
        if marked(text, found, "name") != called:
            wrong.append(case.name)
    assert set(wrong) <= WITHOUT_A_NAME
