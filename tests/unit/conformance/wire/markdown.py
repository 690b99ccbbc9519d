"""Markdown around calls: in front of one it hides nothing, around one it makes a mention of it."""

from collections.abc import Iterator

from tests.unit.conformance.wire.parts import Calls, Text
from tests.unit.conformance.wire.scenarios import TIME, Case, case_of, entry, told
from tests.unit.conformance.wire.wire import MessageWire, Wire

IN_FRONT = {
    "ticks_in_a_line": "Use ``` for code.\n",
    "span_over_lines": "It is `two\nlines` long.\n",
    "span_of_two": "Use ``a ` b`` here.\n",
    "lone_backtick": "The ` key is there. ",
    "escaped_backtick": "A \\` is no span. ",
    "odd_quote": 'A 5" disk. ',
    "closed_fence": "Look:\n```py\nx = '`'\n```\n",
    "open_fence": "Look:\n```py\nx = 1\n",
}
BESIDE = {
    "lone_backticks": "The ` key is there.\n",
    "fences_in_list_items": "1. ```sh\n   ls\n   ```\n",
}
AROUND = {
    "span": "Write `{}` so.",
    "span_of_two": "Write ``{}`` so.",
    "span_on_lines": "Write `\n{}\n` so.",
    "quotes": 'Write "{}" so.',
    "curly_quotes": "Write “{}” so.",
}


def markdown(wire: Wire) -> Iterator[Case]:
    """Patterns 6 and 1: a call behind Markdown, and one inside of it."""
    fenced = "```" in wire.opener  # its calls are fences themselves
    note = "Markdown in front of a call does not hide it"
    for name, text in IN_FRONT.items():
        if not (fenced and name == "open_fence"):
            yield case_of(told(f"{name}_in_front", 6, Text(text), TIME, note=note), wire)
    for name, text in BESIDE.items() if wire.behind else ():
        parts = Text(text), TIME, Text(f"\n{text}")
        yield case_of(told(f"{name}_on_both_sides", 6, *parts, note=note), wire)
    if isinstance(wire, MessageWire) or fenced:
        return
    call = wire.write((Calls((TIME,)),)).strip()
    for name, around in AROUND.items():
        text = around.replace("{}", call)
        note = "a call that is closed in quotes is mentioned, not made"
        yield entry(f"mentioned_in_{name}", 1, text, content=text, note=note)
