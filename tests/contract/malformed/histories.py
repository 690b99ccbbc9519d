"""Conversations that break the rules between calls and results."""

import json
from collections.abc import Iterator
from typing import Any, cast

from tests.contract.malformed.case import TYPE, VALUE, BadRequest
from tests.contract.malformed.texts import BROKEN_JSON, LONG
from tests.contract.wire import USER, asked, body, call, history, result, tool

ARGUMENTS = "messages[0].tool_calls[0].function.arguments"


def arguments() -> Iterator[BadRequest]:
    """Arguments in the history that no model can have written: they are no text."""
    for value in ({}, {"x": 1}, [], ["x"], 5, 1.5, True, False, None):
        raw = history(asked(call(arguments=cast("Any", value))), result())
        yield BadRequest("history arguments", json.dumps(value), raw, ARGUMENTS, TYPE)


def unreadable() -> dict[str, str]:
    """Arguments in the history that are no JSON object: a model wrote them, and was told so."""
    return BROKEN_JSON | {f"cut at {end}": LONG[:end] for end in range(1, len(LONG))}


ONE, TWO = call("a"), call("b")
BROKEN: dict[str, tuple[list[Any], str, str | None]] = {
    "a result without a call": ([USER, result("a")], "messages.[1].role", None),
    "a result first of all": ([result("a")], "messages.[0].role", None),
    "a result for another id": ([asked(ONE), result("z")], "messages.[1].role", None),
    "a call without a result": ([asked(ONE)], "messages.[1].role", None),
    "a user before the result": ([asked(ONE), USER, result("a")], "messages.[1].role", None),
    "an assistant before it": ([asked(ONE), asked(TWO)], "messages.[1].role", None),
    "one result of two": ([asked(ONE, TWO), result("a"), USER], "messages.[2].role", None),
    "the result twice": (
        [asked(ONE), result("a"), result("a")], "messages.[2].tool_call_id", None,
    ),
    "an id twice in a message": (
        [asked(ONE, ONE), result("a")], "messages[0].tool_calls[1].id", VALUE,
    ),
    "an id twice in the talk": (
        [asked(ONE), result("a"), asked(ONE), result("a")], "messages[2].tool_calls[0].id", VALUE,
    ),
    "a result from before": (
        [asked(ONE), result("a"), USER, result("a")], "messages.[3].tool_call_id", None,
    ),
}  # fmt: skip


def histories() -> Iterator[BadRequest]:
    """Calls without results, results without calls, ids that are used twice."""
    for name, (messages, param, code) in BROKEN.items():
        for lead in range(4):
            led = [USER] * lead
            place = param.replace("[", "[+", 1)
            moved = _moved(place, lead)
            raw = body(messages=[*led, *messages], tools=[tool()])
            yield BadRequest("history order", f"{name}, {lead} before", raw, moved, code)
    for size in (257, 1000, 100_000):
        raw = history(asked(call("i" * size)), result("i" * size))
        where = "messages[0].tool_calls[0].id"
        yield BadRequest("history order", f"an id of {size}", raw, where, "string_above_max_length")


def _moved(place: str, lead: int) -> str:
    """`messages[+1].role` with so many messages before it."""
    start, _, rest = place.partition("[+")
    number, _, end = rest.partition("]")
    return f"{start}[{int(number) + lead}]{end}"


def deep() -> Iterator[BadRequest]:
    """JSON that is nested deeper than anything sensible: not even looked at, from some depth on."""
    for name, opening, closing, param in (
        ("lists", b"[", b"]", "messages[0]"),
        ("objects", b'{"a":', b"}", "messages"),
    ):
        for depth in (200, 500, 20_000, 100_000):
            nested = opening * depth + b"1" + closing * depth
            raw = body(messages="@").replace(b'"@"', nested)
            seen = (param, TYPE) if depth < 1000 else (None, None)
            yield BadRequest("deep", f"{depth} {name} as messages", raw, *seen)
