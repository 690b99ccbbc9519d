"""Each variant of a call's deltas and arguments is odd in the stated way, and `std` is not."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.scripted.play import Seen, names_in, play_stream, play_whole, read_stream
from tests.scripted.variants import call_shape

ARGS = {"path": "a.txt", "content": "one two three"}
TEXT = json.dumps(ARGS)
SAID = [{"calls": [["write_file", ARGS], ["status", {}], ["read_file", {"path": "b.txt"}]]}]


def arguments(seen: Seen, index: int) -> list[Any]:
    """What the deltas of one call say about arguments; absent ones say `None` in quotes."""
    calls = [call for call in seen.calls if call["index"] == index]
    return [call["function"].get("arguments", "None") for call in calls]


def order(seen: Seen) -> list[int]:
    return [call["index"] for call in seen.calls]


STREAM: dict[str, Callable[[Seen], bool]] = {
    "onechunk": lambda seen: order(seen) == [0, 1, 2] and arguments(seen, 0) == [TEXT],
    "args_obj": lambda seen: arguments(seen, 0) == [ARGS] and arguments(seen, 1) == [{}],
    "args_null_first": lambda seen: (
        arguments(seen, 0)[0] is None and "".join(arguments(seen, 0)[1:]) == TEXT
    ),
    "args_null": lambda seen: arguments(seen, 0) == [None],
    "args_absent": lambda seen: arguments(seen, 0) == ["None"],
    "args_twice": lambda seen: (
        "".join(arguments(seen, 0)) == TEXT + TEXT
        and arguments(seen, 0)[-1] == TEXT
        and arguments(seen, 1) == ["", "{}", "{}"]
        and order(seen) == sorted(order(seen))
    ),
    "noargs_empty": lambda seen: arguments(seen, 1) == [""] and "".join(arguments(seen, 0)) == TEXT,
    "noargs_obj": lambda seen: arguments(seen, 1) == ["{}"],
    "noargs_missing": lambda seen: arguments(seen, 1) == ["None"],
    "parallel_interleaved": lambda seen: (
        order(seen)[:5] == [0, 1, 2, 0, 1] and "".join(arguments(seen, 0)) == TEXT
    ),
    "calls_in_one_delta": lambda seen: (
        [len(delta.get("tool_calls", ())) for delta in seen.deltas] == [0, 3, 0]
    ),
    "legacy_function_call": lambda seen: (
        not seen.calls
        and seen.finishes == ["function_call"]
        and any(delta.get("function_call", {}).get("name") == "status" for delta in seen.deltas)
    ),
}

WHOLE: dict[str, Callable[[dict[str, Any]], bool]] = {
    "args_obj": lambda message: message["tool_calls"][0]["function"]["arguments"] == ARGS,
    "args_null": lambda message: message["tool_calls"][0]["function"]["arguments"] is None,
    "args_absent": lambda message: "arguments" not in message["tool_calls"][0]["function"],
    "noargs_empty": lambda message: message["tool_calls"][1]["function"]["arguments"] == "",
    "noargs_missing": lambda message: "arguments" not in message["tool_calls"][1]["function"],
    "legacy_function_call": lambda message: "function_call" in message,
}


def message_of(name: str) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(play_whole(name, SAID).body)["choices"][0]["message"]
    return message


def test_every_variant_of_a_call_is_described_here() -> None:
    assert set(STREAM) == names_in(call_shape)


@pytest.mark.parametrize("name", STREAM)
def test_the_stream_is_odd_as_stated_and_std_is_not(name: str) -> None:
    is_odd = STREAM[name]
    assert is_odd(read_stream(play_stream(name, SAID)))
    assert not is_odd(read_stream(play_stream("std", SAID)))


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_answer_is_odd_as_stated_and_std_is_not(name: str) -> None:
    is_odd = WHOLE[name]
    assert is_odd(message_of(name))
    assert not is_odd(message_of("std"))


def test_arguments_that_are_no_json_stay_text_where_an_object_is_wanted() -> None:
    seen = read_stream(play_stream("args_obj", [{"calls": [["write_file", '{"path": ']]}]))
    assert arguments(seen, 0) == ['{"path": ']
