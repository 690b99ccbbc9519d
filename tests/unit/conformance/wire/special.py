"""Cases that need more than values: no calls at all, quotations, broken calls, and cuts."""

import re
from collections.abc import Iterator

from tests.unit.conformance.wire.parts import Call, Calls, Text, Think
from tests.unit.conformance.wire.scenarios import (
    LONG,
    TIME,
    TOKYO,
    Case,
    Scenario,
    case_of,
    entry,
    told,
    write_file,
)
from tests.unit.conformance.wire.wire import MessageWire, Wire

FREE = {
    "plain_text": ("Hello, how can I help you?", ""),
    "empty_answer": ("", ""),
    "whitespace": ("   \n  ", ""),
    "comparison": ("if a < b and c[0] > {1}: ok", "characters that begin markers, no markers"),
    "json_answer": (
        'Here you are: {"user": {"name": "Bob", "tags": ["x"]}}',
        "llama.cpp#18183: JSON in an answer is no call",
    ),
}


def no_calls(wire: Wire) -> Iterator[Case]:
    """Pattern 1: whatever is not a call comes back as it was."""
    for name, (text, note) in FREE.items():
        yield entry(name, 1, text, content=text or None, note=note)
    if wire.opener:
        half = "See " + wire.opener[: len(wire.opener) * 2 // 3]
        note = "vllm#47137: an opener that is never finished is text"
        yield entry("half_an_opener", 1, half, content=half, note=note)
    if not isinstance(wire, MessageWire) and "```" not in wire.opener:
        yield quoted(wire)


def quoted(wire: Wire) -> Case:
    """A call that is shown, not made."""
    call = wire.write((Calls((TIME,)),))
    text = f"Write it so:\n\n````\n{call}\n````\n\nUnderstood?"
    return entry("quoted_in_fence", 1, text, content=text, note="a quoted call is not a call")


def own_markers(wire: Wire) -> Iterator[Case]:
    """Pattern 7: the format's own end markers inside a value."""
    markers = [("closer", wire.closer, "an end marker in a string ends nothing")]
    note = "vllm#44060: the end of a value only counts if structure follows"
    markers += [("value_closer", wire.value_closer, note)]
    for name, marker, why in markers:
        if marker:
            call = write_file(f"before {marker} after")
            yield case_of(told(f"string_with_{name}", 7, call, note=why), wire)


def reasoning(wire: Wire) -> Iterator[Case]:
    """Pattern 6: calls that are drafted in reasoning, and reasoning that is never closed."""
    if wire.think is None or isinstance(wire, MessageWire) or wire.format == "trinity":
        return
    start = wire.think[0]
    call = wire.write((Calls((TIME,)),))
    text = wire.write((Think(f"Maybe {call} would do."), Text("No need.")))
    yield entry(
        "call_drafted_in_reasoning",
        6,
        text,
        content="No need.",
        reasoning=f"Maybe {call} would do.",
        note="lmstudio#1592: a call in reasoning that goes on is a draft",
    )
    yield entry(
        "reasoning_never_closed",
        6,
        f"{start}I will ask. {call}",
        reasoning="I will ask. ",
        calls=(TIME,),
        note="vllm#39056, PR #46079, #53246: a call ends reasoning that was never closed",
    )


def broken(wire: Wire) -> Iterator[Case]:
    """Pattern 8: what breaks off or is no call comes back as text."""
    note = "vllm#53269: a call that was cut off is not a call, and is not mended"
    text = wire.write((Calls((write_file("The quick brown fox"),)),))
    cut = text[: text.index("brown") + 3]
    yield malformed("cut_in_value", cut, wire, note)
    cut = text[: text.index("content", text.index("notes/a.txt")) + 4]
    yield malformed("cut_in_key", cut, wire, note)
    both = wire.write((Calls((TIME, write_file("The quick brown fox"))),))
    yield malformed_second(both, wire)


def malformed(name: str, text: str, wire: Wire, note: str) -> Case:
    """A text whose only call is broken."""
    return entry(name, 8, text, content=wire.broken(text), note=note, malformed=True, cut=True)


def malformed_second(text: str, wire: Wire) -> Case:
    """A good call, then one that is cut off: the good one stands."""
    cut = text[: text.index("brown") + 3]
    rest = wire.broken_behind(TIME, cut)
    note = "the first call is whole and stands"
    return entry(
        "second_call_cut", 8, cut, content=rest, calls=(TIME,), note=note, malformed=True, cut=True
    )


def streamed(wire: Wire) -> Iterator[Case]:
    """Patterns 9 and 10: as tokens come, and cut where it hurts."""
    turn = (Calls((TOKYO, TIME)),)
    text = wire.write(turn)
    note = "vllm#10395, PR #10398: only what the model wrote is sent"
    tokens = re.findall(r"\s?\w{1,5}|\W", text)
    yield {**case_of(told("by_token", 9, TOKYO, TIME, note=note), wire), "deltas": tokens}
    splits = sorted(
        {text.index(word) + len(word) // 2 for word in ("get_weather", "city", "Tokyo")}
    )
    splits += [text.rindex("get_time") - 2, text.rindex("get_time") + 4]
    case = case_of(Scenario("cut_where_it_hurts", 10, turn), wire)
    yield {**case, "splits": splits}
    if wire.live:
        note = "vllm#36116, #30439: arguments are passed on while they are made"
        yield {**case_of(told("long_text", 9, write_file(LONG), note=note), wire), "live": True}


UNION = {
    "name": "search",
    "parameters": {
        "type": "object",
        "$defs": {"limit": {"type": "integer"}},
        "properties": {
            "filter": {"anyOf": [{"type": "object"}, {"type": "null"}]},
            "limit": {"$ref": "#/$defs/limit"},
            "ids": {"oneOf": [{"type": "array", "items": {"type": "integer"}}]},
            "word": {"type": ["string", "integer"]},
            "mode": {"enum": ["fast", "slow"]},
        },
    },
}


def unions(wire: Wire) -> Iterator[Case]:
    """Pattern 4: types behind anyOf, oneOf, $ref and enum."""
    if not (wire.by_schema or wire.value_closer):
        return
    args = {"filter": {"k": 1}, "limit": 5, "ids": [1, 2], "word": "12 monkeys", "mode": "fast"}
    if wire.untyped:
        args["filter"] = {"k": "1"}
    note = "vllm#36032, #48702, #49316: the type is in the schema, however it is said"
    case = case_of(told("union_schema", 4, Call("search", args), note=note), wire)
    yield {**case, "tools": [UNION]}


def dashed_key(wire: Wire) -> Iterator[Case]:
    """Pattern 7: a parameter whose name is not an identifier."""
    if not wire.value_closer:
        return
    properties = {"-A": {"type": "integer"}, "file": {"type": "string"}}
    tool = {"name": "grep", "parameters": {"type": "object", "properties": properties}}
    call = Call("grep", {"-A": 3, "file": "a.txt"})
    note = "vllm-ascend#12815: a key may begin with a dash"
    yield {**case_of(told("dashed_key", 7, call, note=note), wire), "tools": [tool]}


def end_token(wire: Wire) -> Iterator[Case]:
    """Pattern 6: the token that ends the turn, passed on by the server behind words."""
    if wire.behind:
        turn = (Calls((TIME,)), Text("\nThat is all."))
        note = "at the end of an answer it is never text"
        case = case_of(Scenario("end_token_behind_text", 6, turn, note), wire)
        yield {**case, "text": case["text"] + "<|im_end|>"}


WRITERS = (no_calls, own_markers, reasoning, broken, streamed, unions, dashed_key, end_token)
