"""A chunk that cannot be read, anywhere in a stream: never a call the model did not make (R26).

Every event of the stream of every odd backend is made unreadable in turn, and two at a time in full
size, with calls as the backend's own and with calls written as text. A call that a client sees
finished is one that the model made, to the letter; a chunk that was lost in a call is an error.
"""

import json
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from tests.contract.chatting import Backend, chat
from tests.contract.wire import body, tool
from tests.e2e.gateway.sizes import FULL
from tests.scripted import VARIANTS
from tests.scripted.play import play_stream

from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.errors import UpstreamError
from toolwire.protocol.fragments import Fragment

CALLS = [("now", "{}"), ("delete", '{"what": "everything in /srv/old", "days": 3}')]
TOOLS = [
    tool("now", {"type": "object", "properties": {}}),
    tool("delete", {"type": "object", "properties": {"what": {"type": "string"}}}),
]
TEXT = "I will clean up. Just a moment. "
TAGS = "".join(
    f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>\n'
    for name, arguments in CALLS
)
SCRIPTS: dict[str, list[Any]] = {
    "native": [{"text": TEXT, "calls": [list(call) for call in CALLS]}],
    "text": [{"text": TEXT + TAGS}],
    "prose": [{"text": TEXT}],
}
UNREADABLE = (b"{\xff", b'{"choices": [{"delta": {"content": "\\ud800"}}]}', b"oops")
DONE = b"data: [DONE]"
OTHERWISE = {"badargs", "unknown_tool", "args_null", "args_absent", "lengthcut", "flood"}
"""Variants in which the model itself says other calls, or too much to be tried."""


def events_of(variant: str, kind: str) -> list[bytes]:
    """The events of a stream, each with its end."""
    raw = play_stream(variant, SCRIPTS[kind]).body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events = [event + b"\n\n" for event in raw.split(b"\n\n") if event.strip()]
    return [event for event in events if event.lstrip(b"\xef\xbb\xbf").startswith(b"data:")]


def broken(events: list[bytes], at: tuple[int, ...], what: bytes) -> list[bytes]:
    """The stream with these events made unreadable."""
    return [b"data: " + what + b"\n\n" if n in at else event for n, event in enumerate(events)]


def heard(events: list[bytes]) -> Backend:
    """A backend that sends these events, each in a read of its own."""
    decoder = AnswerDecoder(streamed=True, max_line=1 << 20)
    blocks: list[list[Fragment]] = []
    error = None
    try:
        for event in events:
            blocks.append(decoder.feed(event))  # noqa: PERF401 - kept up to where it fails
        blocks.append(decoder.finish())
    except UpstreamError as raised:
        error = raised
    return Backend(blocks, done=decoder.done, error=error)


def places(events: list[bytes]) -> Iterator[tuple[int, ...]]:
    """Each event but `[DONE]`, and in full size each two of them."""
    able = [n for n, event in enumerate(events) if not event.startswith(DONE)]
    yield from ((n,) for n in able)
    if FULL and len(able) <= 40:
        yield from combinations(able, 2)


def asking(*, stream: bool) -> bytes:
    """A request to a model whose name says how it writes calls."""
    return body(model="qwen2.5-7b-instruct", tools=TOOLS, stream=stream)


def seen_calls(events: list[bytes], *, stream: bool) -> tuple[list[tuple[str, str]], bool]:
    """The calls that a client sees as finished, and whether the answer is one that has an end."""
    client = chat(asking(stream=stream), heard(events), mode="hybrid")
    if client.status != 200:
        return [], False
    if not stream:
        message = client.json["choices"][0]["message"]
        return [_pair(call) for call in message.get("tool_calls") or ()], True
    if client.events[-1] != "[DONE]":
        return [], False
    calls: list[list[str]] = []
    for chunk in client.chunks:
        for choice in chunk["choices"]:
            for call in choice["delta"].get("tool_calls") or ():
                if "id" in call:
                    calls.append([call["function"]["name"], ""])
                calls[-1][1] += call["function"].get("arguments") or ""
    return [(name, arguments) for name, arguments in calls], True


def _pair(call: Any) -> tuple[str, str]:
    return call["function"]["name"], call["function"]["arguments"]


def _value(call: tuple[str, str]) -> tuple[str, Any]:
    try:
        return call[0], json.loads(call[1])
    except ValueError:
        return call


MEANT = [_value(call) for call in CALLS]


@pytest.mark.parametrize("stream", [True, False] if FULL else [True])
@pytest.mark.parametrize("kind", ["native", "text"])
@pytest.mark.parametrize("variant", sorted(set(VARIANTS) - OTHERWISE))
def test_a_lost_chunk_never_makes_another_call(variant: str, kind: str, stream: bool) -> None:
    events = events_of(variant, kind)
    for number, at in enumerate(places(events)):
        what = UNREADABLE[number % len(UNREADABLE)]
        calls, ended = seen_calls(broken(events, at, what), stream=stream)
        for call in map(_value, calls):
            assert call in MEANT, f"event {at} of {variant} lost: {call}"
        assert len(calls) <= len(MEANT), f"event {at} of {variant} lost: {calls}"
        assert ended or not calls


@pytest.mark.parametrize("what", UNREADABLE)
@pytest.mark.parametrize("kind", ["native", "text"])
def test_a_chunk_that_is_lost_in_a_call_is_an_error(kind: str, what: bytes) -> None:
    events = events_of("std", kind)
    begin, *_, end = (
        n for n, event in enumerate(events) if b"everythi" in event or b"/old" in event
    )
    inside = range(begin, end + 1)
    assert len(inside) >= 3
    for at in inside:
        assert seen_calls(broken(events, (at,), what), stream=True) == ([], False)


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_chunk_that_is_lost_before_calls_of_the_backend_costs_only_itself(what: bytes) -> None:
    events = events_of("std", "native")
    at = next(n for n, event in enumerate(events) if b"clean" in event)
    calls, ended = seen_calls(broken(events, (at,), what), stream=True)
    assert ended
    assert list(map(_value, calls)) == MEANT


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_chunk_that_is_lost_before_a_call_in_text_may_have_made_it_a_quotation(
    what: bytes,
) -> None:
    quoted = [{"text": f"Never write\n```\n{TAGS}```\nby itself."}]
    raw = play_stream("std", quoted).body
    events = [event + b"\n\n" for event in raw.split(b"\n\n") if event]
    assert seen_calls(events, stream=True) == ([], True)
    fence = next(n for n, event in enumerate(events) if b"```" in event)
    assert seen_calls(broken(events, (fence,), what), stream=True) == ([], False)


def test_a_chunk_that_is_lost_in_prose_costs_only_itself() -> None:
    events = events_of("std", "prose")
    at = next(n for n, event in enumerate(events) if b"clean" in event)
    client = chat(asking(stream=True), heard(broken(events, (at,), b"oops")), mode="hybrid")
    text = "".join(c["choices"][0]["delta"].get("content") or "" for c in client.chunks[:-1])
    assert text == TEXT.replace("clean ", "")


def test_calls_that_nothing_is_lost_of_are_seen() -> None:
    for kind in ("native", "text"):
        for stream in (True, False):
            calls, ended = seen_calls(events_of("std", kind), stream=stream)
            assert (list(map(_value, calls)), ended) == (MEANT, True)
