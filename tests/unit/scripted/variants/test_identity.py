"""Each variant of what tells calls apart is odd in the stated way, and `std` is not."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.scripted.chunks import Chunk
from tests.scripted.play import Seen, names_in, play_stream, play_whole, read_stream
from tests.scripted.variants import identity

SAID = [{"calls": [["write_file", {"path": "a.txt"}], ["read_file", {"path": "b.txt"}]]}]


def heads(seen: Seen) -> list[Chunk]:
    return [call for call in seen.calls if call["function"].get("arguments") == ""]


def tails(seen: Seen) -> list[Chunk]:
    return [call for call in seen.calls if call["function"].get("arguments") != ""]


def ids(seen: Seen) -> list[str]:
    return [call["id"] for call in heads(seen)]


def names(seen: Seen) -> list[str | None]:
    return [call["function"].get("name") for call in seen.calls]


def repeats(value: str | None) -> Callable[[Seen], bool]:
    return lambda seen: all(
        (tail.get("id", 0), tail.get("type", 0), tail["function"].get("name", 0)) == (value,) * 3
        for tail in tails(seen)
    )


ODD: dict[str, Callable[[Seen], bool]] = {
    "notype": lambda seen: not any("type" in call for call in seen.calls),
    "noindex": lambda seen: not any("index" in call for call in seen.calls),
    "shared_index": lambda seen: {call["index"] for call in seen.calls} == {0},
    "index_gap": lambda seen: {call["index"] for call in seen.calls} == {1, 4},
    "index_text": lambda seen: {call["index"] for call in seen.calls} == {"0", "1"},
    "idrepeat": lambda seen: (
        all(call.get("type") == "function" for call in seen.calls)
        and set(names(seen)) == {"write_file", "read_file"}
        and len({(call["index"], call["id"]) for call in seen.calls}) == 2
    ),
    "idempty": repeats(""),
    "idnull": repeats(None),
    "name_repeated": lambda seen: (
        set(names(seen)) == {"write_file", "read_file"} and "id" not in tails(seen)[0]
    ),
    "name_split": lambda seen: names(seen)[:3] == ["write", "_file", None],
    "name_late": lambda seen: names(seen)[:3] == [None, "write_file", None],
    "callid": lambda seen: {call.get("call_id") for call in seen.calls} == set(ids(seen)),
    "id_uuid": lambda seen: [len(part) for part in ids(seen)[0].split("-")] == [13, 4, 4, 4, 12],
    "id_long": lambda seen: {len(id_) for id_ in ids(seen)} == {97} and len(set(ids(seen))) == 2,
    "id_same": lambda seen: ids(seen) == ["call_0", "call_0"],
    "id_duplicate": lambda seen: len(ids(seen)) == 2 and len(set(ids(seen))) == 1,
    "id_kimi": lambda seen: ids(seen) == ["functions.write_file:0", "functions.read_file:1"],
    "id_missing": lambda seen: not any("id" in call for call in seen.calls),
}

IN_WHOLE = ("id_uuid", "id_long", "id_same", "id_duplicate", "id_kimi")


def whole_calls(name: str) -> list[dict[str, Any]]:
    message = json.loads(play_whole(name, SAID).body)["choices"][0]["message"]
    calls: list[dict[str, Any]] = message["tool_calls"]
    return calls


def test_every_variant_of_identity_is_described_here() -> None:
    assert set(ODD) == names_in(identity)


@pytest.mark.parametrize("name", ODD)
def test_the_stream_is_odd_as_stated_and_std_is_not(name: str) -> None:
    assert ODD[name](read_stream(play_stream(name, SAID)))
    assert not ODD[name](read_stream(play_stream("std", SAID)))


@pytest.mark.parametrize("name", IN_WHOLE)
def test_the_whole_answer_has_the_same_ids_as_the_stream(name: str) -> None:
    streamed = ids(read_stream(play_stream(name, SAID)))
    assert [call["id"] for call in whole_calls(name)] == streamed


@pytest.mark.parametrize(("name", "key"), [("notype", "type"), ("id_missing", "id")])
def test_the_whole_answer_lacks_what_the_stream_lacks(name: str, key: str) -> None:
    assert not any(key in call for call in whole_calls(name))
    assert all(key in call for call in whole_calls("std"))


def test_an_id_that_is_the_same_everywhere_is_the_same_in_the_next_turn() -> None:
    later = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    usual = ids(read_stream(play_stream("std", SAID)))
    assert ids(read_stream(play_stream("id_same", SAID, messages=later))) == ["call_0", "call_0"]
    assert ids(read_stream(play_stream("std", SAID, messages=later))) != usual
