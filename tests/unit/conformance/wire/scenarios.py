"""The scenarios that every format must get right: the ten patterns, and the bugs seen elsewhere.

A scenario is made of values; a wire writes it; what is expected are the values.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.unit.conformance.wire.parts import (
    Call,
    Calls,
    Text,
    Think,
    Turn,
    calls_of,
    content_of,
    reasoning_of,
)
from tests.unit.conformance.wire.wire import Wire

Case = dict[str, Any]

CODE = (
    'def f(x):\n    return {"a": [x], \'b\': "\\t\\\\"}  # <b class="y">1 < 2 && 3</b> &lt;&amp;\n'
)
TIME = Call("get_time", {"tz": "CET"})
TOKYO = Call("get_weather", {"city": "Tokyo"})
REFRESH = Call("refresh", {})
TYPES: dict[str, tuple[dict[str, Any], str]] = {
    "type_integer": (
        {"age": 30},
        "vllm#32152, #22885: the last brace is lost if the last value is no string",
    ),
    "types_single": (
        {"age": -7, "price": 19.99, "active": True, "role": None},
        "vllm#19569: a negative number is a number",
    ),
    "types_nested": (
        {"tags": ["a", "b c"], "address": {"city": "Tokyo", "zip": "100-0001"}},
        "vllm#30722: a list in the arguments ends nothing",
    ),
    "types_empty": ({"tags": [], "meta": {}, "active": False}, ""),
    "type_deep": (
        {"meta": {"a": {"b": {"c": {"d": [{"e": ["1", ["2", ["3"]]]}]}}}}},
        "vllm#27701: nesting has no limit of two",
    ),
}
STRINGS: dict[str, tuple[str, str]] = {
    "escapes": ('He said "hello", didn\'t he?\n\tC:\\Users\\new \\u00e9 \\\\\r\nend', ""),
    "letters": (
        "東京 🎉 é ｜ ▁",
        "vllm#17703, PR #46308: one serialisation, so that nothing is sent twice",
    ),
    "indentation": (
        "    if x:\n\t\treturn  \n\n",
        "vllm#48753, PR #48846: strings to the byte, or an edit tool finds nothing",
    ),
    "code": (
        CODE,
        "vllm#38910, ollama#18563, smg#1888: held text comes once, a < is no tag, entities stay",
    ),
    "with_a_call": (
        '{"name": "get_time", "arguments": {"tz": "UTC"}}',
        "an argument that looks like a call",
    ),
}
LONG = "".join(f"{number:02d}: a line of a long file\n" for number in range(40))


@dataclass(frozen=True)
class Scenario:
    """A turn, with the number of the pattern it belongs to, and who got it wrong before."""

    name: str
    pattern: int
    turn: Turn
    note: str = ""


def write_file(text: str) -> Call:
    """A call with a text in it, followed by nothing."""
    return Call("write_file", {"path": "notes/a.txt", "content": text})


def told(name: str, pattern: int, *parts: Any, note: str = "") -> Scenario:
    """A scenario; calls that follow each other stand together."""
    turn: list[Any] = []
    for part in parts:
        if isinstance(part, Call) and turn and isinstance(turn[-1], Calls):
            turn[-1] = Calls((*turn[-1].calls, part))
        else:
            turn.append(Calls((part,)) if isinstance(part, Call) else part)
    return Scenario(name, pattern, tuple(turn), note)


def plain() -> Iterator[Scenario]:
    """Scenarios without layout of their own."""
    yield told("one_call", 2, TOKYO)
    yield told(
        "parallel_calls",
        3,
        TOKYO,
        TIME,
        note="vllm#41967, #34449, #53965: several calls may come in one delta",
    )
    yield told(
        "three_calls_one_empty",
        3,
        TOKYO,
        REFRESH,
        Call("get_weather", {"city": "Kyoto"}),
        note="vllm#47901, sglang#35564: an empty call takes nothing from the next, and a tool that "
        "is called twice makes two calls",
    )
    for name, (args, note) in TYPES.items():
        yield told(name, 4, Call("update_user", {"name": "John", **args}), note=note)
    yield told("no_arguments", 5, REFRESH, note="vllm#28806: {} is sent for a tool without any")
    for name, (text, note) in STRINGS.items():
        yield told(f"string_{name}", 7, write_file(text), note=note)


def words() -> Scenario:
    """Strings that look like something else, for formats that write no quotes around them."""
    call = Call("write_file", {"path": "0123", "content": "null"})
    note = "a string stays a string, whatever it looks like"
    return told("string_words", 7, call, note=note)


def around(wire: Wire) -> Iterator[Scenario]:
    """Scenarios with text or reasoning beside calls, as far as the format knows them."""
    note = "vllm PR #38579: text in front of a call is not lost"
    yield told("text_in_front", 6, Text("Let me check.\n"), TIME, note=note)
    if wire.behind:
        note = "vllm#56263: text behind a call is not lost, whole or streamed"
        yield told("text_behind", 6, TIME, Text("\nThat is all."), note=note)
        parts = Text("First.\n"), TIME, Text("\nThen I looked again.\n"), TOKYO
        yield told("text_between", 6, *parts)
    if wire.think:
        yield told("reasoning", 6, Think("I need the time."), TIME)
        yield told("reasoning_then_answer", 6, Think("Easy."), Text("It is noon."))
        yield told("reasoning_text_call", 6, Think("Hm."), Text("Let me see.\n"), TIME)


def case_of(scenario: Scenario, wire: Wire) -> Case:
    """A scenario as a format writes it."""
    return entry(
        scenario.name,
        scenario.pattern,
        wire.write(scenario.turn),
        content=content_of(scenario.turn),
        reasoning=reasoning_of(scenario.turn),
        calls=calls_of(scenario.turn),
        note=scenario.note,
    )


def entry(name: str, pattern: int, text: str, **more: Any) -> Case:
    """A case as the files have it."""
    calls = [{"name": call.name, "arguments": call.args} for call in more.pop("calls", ())]
    case = {"name": name, "pattern": pattern, "text": text, "tools": more.pop("tools", "standard")}
    case |= {"content": None, "reasoning": None, "calls": calls, "note": ""}
    return {**case, **more}
