"""One turn gives the same calls, text and reasoning through every surface, streamed and whole."""

import re
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.surfaces.doors import DOORS, Said
from tests.property.surfaces.house import OPEN_DOORS, House

from toolwire.conformance import cases_of, formats_with_cases
from toolwire.conformance.calls import FunctionCall
from toolwire.conformance.case import TestCase
from toolwire.gateway.strategies.selection import Mode
from toolwire.protocol.fragments import CallFragment, Fragment

PLAIN_NAME = re.compile("[a-zA-Z0-9_]{1,64}")


def usual(case: TestCase) -> bool:
    """Whether every surface accepts the tools and delivers the calls: some are repaired only in a
    whole answer, and the native API refuses calls that do not fit."""
    functions = {tool["function"]["name"]: tool["function"] for tool in case.tools}
    plain = all(map(PLAIN_NAME.fullmatch, functions))
    odd = case.malformed or case.cut or case.streaming_mode
    return plain and not odd and all(fits(c.function, functions) for c in case.expected_tool_calls)


def fits(call: FunctionCall, functions: dict[str, Any]) -> bool:
    """Whether a call is one of a known tool, with arguments of its schema, if that is valid."""
    if call.name not in functions:
        return False
    schema = {"type": "object", **functions[call.name].get("parameters", {})}
    valid = jsonschema_rs.meta.is_valid(schema)
    return valid and jsonschema_rs.is_valid(schema, call.decoded())


EVERY = 25
"""Of so many cases one is tried in one piece; `given` finds the others."""
CASES = [case for name in formats_with_cases() for case in cases_of(name) if usual(case)]


@cache
def house(mode: Mode, format_name: str | None) -> House:
    return House(mode, format_name)


def cut(text: str, places: list[int]) -> list[Fragment]:
    """The text as a model streams it, cut at these places."""
    ends = sorted({place % (len(text) + 1) for place in places} | {len(text)})
    pieces = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return [*(Fragment(text=piece) for piece in pieces if piece), Fragment(finish="stop")]


def said_by(served: House, name: str, said: list[Fragment], case: TestCase, stream: bool) -> Said:
    door = DOORS[name]
    return served.ask(door, said, case.tools, [door.user("Hello")], stream=stream).said


@pytest.mark.parametrize("name", OPEN_DOORS)
@pytest.mark.parametrize("mode", ["hybrid", "prompted"])
@given(case=st.sampled_from(CASES), places=st.lists(st.integers(0, 10_000), max_size=8))
@settings(max_examples=40, deadline=None)
def test_a_text_with_calls_says_the_same_by_every_door(
    name: str, mode: Mode, case: TestCase, places: list[int]
) -> None:
    served = house(mode, case.parser_name)
    said = cut(case.model_output, places)
    expected = said_by(served, "chat", said, case, stream=False)
    for stream in (False, True):
        assert said_by(served, name, said, case, stream) == expected, (case.name, stream)


@cache
def by_chat(number: int) -> Said:
    """What the chat surface makes of a case."""
    case = CASES[number]
    served = house("hybrid", case.parser_name)
    return said_by(served, "chat", cut(case.model_output, []), case, stream=False)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", OPEN_DOORS)
def test_the_cases_of_every_format_say_the_same(name: str, *, stream: bool) -> None:
    for number, case in enumerate(CASES):
        if number % EVERY == 0:
            served = house("hybrid", case.parser_name)
            said = said_by(served, name, cut(case.model_output, []), case, stream)
            assert said == by_chat(number), case.name


REASONING = Fragment(reasoning="First, the time.\nThen ")
OWN_CALLS = [
    CallFragment(0, "id_a", "get_time", '{"tz":'),
    CallFragment(0, None, None, ' "CET", "note": "a\\nb \\u00fc ü"}'),
    CallFragment(1, "id_b", "get_time", "{}"),
    CallFragment(2, "id_c", "get_weather", ""),
]
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("get_time", "get_weather")
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", OPEN_DOORS)
def test_a_servers_own_calls_and_reasoning_say_the_same(name: str, *, stream: bool) -> None:
    said = [
        REASONING,
        Fragment(reasoning="the rest. ü"),
        Fragment(text="Let me "),
        Fragment(text="see."),
        *(Fragment(calls=(call,)) for call in OWN_CALLS),
        Fragment(finish="tool_calls"),
    ]
    door = DOORS[name]
    answer = house("native", None).ask(door, said, TOOLS, [door.user("Hello")], stream=stream)
    assert answer.said == Said(
        "Let me see.",
        "First, the time.\nThen the rest. ü",
        (
            ("get_time", {"tz": "CET", "note": "a\nb ü ü"}),
            ("get_time", {}),
            ("get_weather", {}),
        ),
    )
    assert len({call.call_id for call in answer.calls}) == 3
