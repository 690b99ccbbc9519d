"""Each variant of the bytes is odd in the stated way, and `std` is not."""

import json
from collections.abc import Callable

import pytest
from tests.scripted.play import events_of, names_in, play, play_stream, play_whole, read_stream
from tests.scripted.reply import Reply
from tests.scripted.stage import Stage
from tests.scripted.variants import encoding

SAID = [{"text": "Grüße, 世界!", "calls": [["write_file", {"path": "a.txt"}]]}]
MIB = 2**20

ODD: dict[str, Callable[[Reply], bool]] = {
    "nodone": lambda reply: b"[DONE]" not in reply.body,
    "comments": lambda reply: all(step.startswith(b": ") for step in writes(reply)),
    "crlf": lambda reply: reply.body.count(b"\n") == reply.body.count(b"\r\n"),
    "cr_only": lambda reply: b"\n" not in reply.body and reply.body.endswith(b"\r\r"),
    "nospace": lambda reply: b"data: " not in reply.body,
    "event_fields": lambda reply: reply.body.startswith(b"event: message\nid: 0\nretry: 1000\n"),
    "multiline_data": lambda reply: reply.body.count(b"\ndata: ") > 2 * len(reply.steps),
    "bom": lambda reply: reply.body.startswith(b"\xef\xbb\xbfdata: "),
    "raw_unicode": lambda reply: "世界".encode() in reply.body,
    "nolastblank": lambda reply: reply.body.endswith(b"data: [DONE]\n"),
    "split_events": lambda reply: {len(step) for step in writes(reply)} == set(range(1, 8)),
    "split_bytes": lambda reply: reply.raw_split == 1,
    "joined_events": lambda reply: len(reply.steps) == 1 and reply.body.count(b"data: ") > 5,
    "trailing_garbage": lambda reply: reply.body.partition(b"[DONE]\n\n")[2].endswith(b"end\n\n"),
    "malformed": lambda reply: any(data.endswith('"delta') for data in events_of(reply)),
    "huge_line": lambda reply: len(reply.body.splitlines()[-1]) > 64 * MIB,
    "flood": lambda reply: reply.body.count(b'{"content": "again "}') == 20_000,
    "close_delimited": lambda reply: reply.framing == "close",
    "stream_length": lambda reply: reply.framing == "length" and reply.length == len(reply.body),
    "plain_type": lambda reply: ("content-type", "text/plain") in reply.headers,
    "nonstream_force": lambda reply: "choices" in json_of(reply),
}

SAME_EVENTS = (
    "comments",
    "crlf",
    "cr_only",
    "nospace",
    "event_fields",
    "bom",
    "split_events",
    "split_bytes",
    "joined_events",
    "close_delimited",
    "stream_length",
    "plain_type",
    "nolastblank",
)


def writes(reply: Reply) -> list[bytes]:
    return [step for step in reply.steps if isinstance(step, bytes)]


def json_of(reply: Reply) -> object:
    return json.loads(reply.body) if reply.body.startswith(b"{") else {}


def test_every_variant_of_the_bytes_is_described_here() -> None:
    assert {*ODD, "stream_force"} == names_in(encoding)


@pytest.mark.parametrize("name", ODD)
def test_the_bytes_are_odd_as_stated_and_those_of_std_are_not(name: str) -> None:
    assert ODD[name](play_stream(name, SAID))
    assert not ODD[name](play_stream("std", SAID))


@pytest.mark.parametrize("name", SAME_EVENTS)
def test_a_variant_of_the_bytes_alone_leaves_the_events_as_they_are(name: str) -> None:
    assert [data.strip() for data in events_of(play_stream(name, SAID))] == events_of(
        play_stream("std", SAID)
    )


@pytest.mark.parametrize("name", ["multiline_data", "raw_unicode"])
def test_another_writing_of_the_json_means_the_same(name: str) -> None:
    assert read_stream(play_stream(name, SAID)) == read_stream(play_stream("std", SAID))


def test_a_stream_comes_although_none_was_asked_for() -> None:
    reply = play_whole("stream_force", SAID)
    assert events_of(reply)[-1] == "[DONE]"
    assert "choices" in json.loads(play_whole("std", SAID).body)


def test_raw_unicode_tells_the_length_of_what_it_sends() -> None:
    reply = play_whole("raw_unicode", SAID)
    assert "世界".encode() in reply.body
    assert reply.length == len(reply.body) < play_whole("std", SAID).length


def test_the_sizes_of_a_flood_and_of_a_huge_line_can_be_chosen() -> None:
    usual = len(events_of(play_stream("std", SAID)))
    assert len(events_of(play_stream("flood:10", SAID))) == usual + 10
    assert MIB < len(play_stream("huge_line:1", SAID).body) < 2 * MIB


def test_one_malformed_event_meets_the_first_request_only() -> None:
    stage = Stage("malformed", SAID)
    first, second = (play(stage, stream=True, messages=[]) for _ in range(2))
    assert ODD["malformed"](first)
    assert not ODD["malformed"](second)
