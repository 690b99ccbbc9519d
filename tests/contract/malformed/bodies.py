"""Bodies that are not JSON."""

import json
from collections.abc import Iterator

from tests.contract.malformed.case import BadRequest
from tests.contract.wire import USER, asked, body, call, result, tool

GOOD = body(
    messages=[USER, asked(call(arguments='{"a": [1, null]}')), result()],
    tools=[tool(parameters={"type": "object", "properties": {"a": {"type": "array"}}})],
    temperature=0.5,
    stream=False,
)


def cut() -> Iterator[BadRequest]:
    """The body ends too early, at any place."""
    for end in range(len(GOOD)):
        yield BadRequest("truncated body", f"cut at {end}", GOOD[:end])


def garbled() -> Iterator[BadRequest]:
    """A character too many or too few, wherever that is not JSON any more."""
    for at, char in enumerate(GOOD.decode()):
        if char in '{}[]:,"':
            if at:  # without the first brace it is a string, and refused as one
                yield from _if_broken(f"without {char} at {at}", GOOD[:at] + GOOD[at + 1 :])
            yield from _if_broken(f"twice {char} at {at}", GOOD[: at + 1] + GOOD[at:])
    for name, junk in (("NUL", b"\0"), ("BOM", b"\xef\xbb\xbf"), ("a byte", b"\xff")):
        yield BadRequest("broken body", f"{name} in front", junk + GOOD)
        yield BadRequest("broken body", f"{name} behind", GOOD + junk)


def _if_broken(name: str, raw: bytes) -> Iterator[BadRequest]:
    try:
        json.loads(raw)
    except ValueError:
        yield BadRequest("broken body", name, raw)
