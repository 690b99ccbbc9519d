"""Tools that an earlier body had, too: found without being scanned, and never taken for others."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwire.errors import RequestError
from toolwire.surfaces.json_body import read_members
from toolwire.surfaces.repeated_tools import RepeatedTools

TOOLS = [
    {"type": "function", "function": {"name": f"tool_{n}", "description": 'Says "{[,]}" \\ é.'}}
    for n in range(20)
]
MESSAGES = [{"role": "user", "content": "Hello"}]
ORDERS = [
    {"model": "m", "messages": MESSAGES, "tools": TOOLS},
    {"model": "m", "messages": MESSAGES, "tools": TOOLS, "tool_choice": "auto", "stream": True},
    {"messages": MESSAGES, "model": "m", "tools": TOOLS, "top_p": 0.5, "seed": -3, "user": None},
]
OTHER_ORDERS = [
    {"model": "m", "tools": TOOLS, "messages": MESSAGES},
    {"tools": TOOLS, "model": "m"},
    {"model": "m", "messages": MESSAGES, "tools": TOOLS, "metadata": {"a": "b"}},
    {"model": "m", "messages": MESSAGES, "tools": TOOLS, "user": "x, y"},
]
SPACED: Callable[[Any], bytes] = lambda value: json.dumps(value).encode()  # noqa: E731
WRITERS = [msgspec.json.encode, SPACED]


def members_of(read: Callable[[bytes], dict[str, msgspec.Raw]], body: bytes) -> object:
    try:
        return {name: bytes(raw) for name, raw in read(body).items()}
    except RequestError as error:
        return str(error)


class Reading:
    """Notes what is scanned."""

    def __init__(self) -> None:
        self.scanned: list[bytes] = []

    def __call__(self, body: bytes) -> dict[str, msgspec.Raw]:
        self.scanned.append(body)
        return read_members(body)


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("order", ORDERS)
def test_known_tools_are_not_scanned_again(
    write: Callable[[Any], bytes], order: dict[str, Any]
) -> None:
    read = Reading()
    reader = RepeatedTools(read=read)
    first = reader.members(write(order))
    longer = write(order | {"messages": [*MESSAGES, {"role": "assistant", "content": "Hi"}]})
    second = reader.members(longer)
    assert b"tool_5" in read.scanned[0]
    assert b"tool_5" not in b"".join(read.scanned[1:])
    assert second["tools"] is first["tools"]
    assert members_of(lambda _: second, longer) == members_of(read_members, longer)


@pytest.mark.parametrize("order", OTHER_ORDERS)
def test_other_orders_are_read_as_ever(order: dict[str, Any]) -> None:
    reader = RepeatedTools()
    for _ in range(3):
        body = msgspec.json.encode(order)
        assert members_of(reader.members, body) == members_of(read_members, body)


CHANGES = [
    (b"tool_5", b"tool_X"),
    (b',"tools":', b',"toolz":'),
    (b'"auto"', b'"none"'),
    (b"true}", b"null}"),
]


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_body_of_the_same_size_with_another_end_is_read_in_full(old: bytes, new: bytes) -> None:
    reader = RepeatedTools()
    # What follows the tools is longer than the sample by which an end is looked up.
    more = {f"parameter_{letter}": True for letter in "abcde"}
    body = msgspec.json.encode(ORDERS[1] | more)
    reader.members(body)
    other = body.replace(old, new)
    assert members_of(reader.members, other) == members_of(read_members, other)
    assert members_of(reader.members, body) == members_of(read_members, body)


def test_short_tools_are_not_remembered() -> None:
    read = Reading()
    reader = RepeatedTools(read=read)
    body = msgspec.json.encode({"model": "m", "tools": TOOLS[:1]})
    reader.members(body)
    reader.members(body)
    assert read.scanned == [body, body]


def test_ends_are_limited_in_bytes() -> None:
    read = Reading()
    reader = RepeatedTools(max_bytes=3000, read=read)
    body = msgspec.json.encode({"model": "m", "tools": TOOLS[:15]})
    reader.members(body)
    reader.members(msgspec.json.encode({"model": "m", "tools": TOOLS[:16]}))
    reader.members(body)
    assert read.scanned[-1] == body


BEGINNINGS = [
    b"", b"{", b"[", b'{"a":1', b'{"a":1,', b'{"a":"', b'{"a":"b', b'{"a":"\\', b'{"a":{"b":1',
    b'{"a":[1', b'{"a":[{"b":1', b'{"tools":[],"a":1', b'{"a"', b'{"a":', b"[1", b'"a', b'{"a":1}',
    b'{"a":{"b":{}}', b'{"a":"\xff"', b'{"a":"\\ud800"', b' {"a":1', b'\xef\xbb\xbf{"a":1', b"{a:1",
    b'{"a":1 ', b'{"tools":null,"tools":1',
]  # fmt: skip


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("order", ORDERS)
def test_whatever_stands_before_a_known_end_is_judged_with_it(
    beginning: bytes, order: dict[str, Any]
) -> None:
    reader = RepeatedTools()
    whole = msgspec.json.encode(order)
    reader.members(whole)
    at = whole.index(b',"tools"')
    body = beginning + whole[at:]
    assert members_of(reader.members, body) == members_of(read_members, body)


PIECES = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", '"', ",", ":", "\\", " ", "a", "1", "null", '"a":1', '"tools":', "é"]
    ),
    max_size=12,
)


@given(PIECES, st.sampled_from(ORDERS), PIECES)
def test_random_text_around_a_known_end_reads_as_it_is(
    before: list[str], order: dict[str, Any], after: list[str]
) -> None:
    reader = RepeatedTools()
    whole = msgspec.json.encode(order)
    reader.members(whole)
    at = whole.index(b',"tools"')
    for end in (whole[at:], whole[at:-1] + "".join(after).encode()):
        body = "".join(before).encode() + end
        for _ in range(2):
            assert members_of(reader.members, body) == members_of(read_members, body)
