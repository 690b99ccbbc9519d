"""The copier of JSON: verbatim, balanced, bounded."""

import json
from collections.abc import Iterator

import pytest

from toolwire.formats.arguments.json_text import MAX_DEPTH, copy_value, end_of_value, read_object
from toolwire.formats.reader import Reader


def copy(pieces: list[str]) -> tuple[bool, str, str]:
    """Whether the value was whole, what was copied, and what was left."""
    reader, out = Reader(), []
    copying = copy_value(reader, out.append)
    done: list[bool] = []

    def run() -> Iterator[None]:
        done.append((yield from copying))

    running = run()
    for piece in pieces:
        reader.add(piece)
        next(running, None)
    reader.add("")
    reader.final = True
    next(running, None)
    return done[0], "".join(out), reader.buf[reader.pos :]


@pytest.mark.parametrize(
    "value",
    [
        '{"a": [1, -2.5e3, true, false, null, "x"], "b": {}}',
        "[]",
        '{ "a" : [ ] , "b" : [ { } ] }',
        '"\\u00e9\\n\\"}{"',
        '{"long": "' + "x" * 200 + '"}',
    ],
)
def test_json_is_copied_byte_for_byte_and_no_further(value: str) -> None:
    for size in (1, 4, 1000):
        text = value + "} tail"
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        assert copy(pieces) == (True, value, "} tail")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"a": "l1\nl2\t"}', {"a": "l1\nl2\t"}),
        ("{'a': 'it\\'s \"x\"', 'b': True, 'c': None}", {"a": 'it\'s "x"', "b": True, "c": None}),
    ],
)
def test_slips_with_one_reading_are_put_right(written: str, meant: object) -> None:
    for pieces in ([written], list(written)):
        whole, copied, _ = copy(pieces)
        assert (whole, json.loads(copied)) == (True, meant)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('{"a": 1, // one\n "b": 2}', {"a": 1, "b": 2}),
        (
            '{ # first\n"a" /* key */ : /* value */ [1, # }\n 2// ]\n, 3 /* , */ ]}',
            {"a": [1, 2, 3]},
        ),
        ('{"a": 1, // last\n /* ] */ }', {"a": 1}),
        ("[ /* none */ ]", []),
        ('["http://a/*b*/#c"]', ["http://a/*b*/#c"]),
    ],
)
def test_comments_are_dropped(written: str, meant: object) -> None:
    for pieces in ([written], list(written), [written + " " * 60]):
        whole, copied, _ = copy(pieces)
        assert (whole, json.loads(copied)) == (True, meant)


@pytest.mark.parametrize("text", ["[1 / 2]", "[1 # ]", "[1 /* ]", "[/1]", "[1, /* ]"])
def test_a_comment_without_an_end_is_none(text: str) -> None:
    for pieces in ([text], list(text)):
        assert copy(pieces)[0] is False


def test_a_backslash_before_a_character_without_an_escape_is_one() -> None:
    text = r'["\d+\.\w \(\[ C:\Users\Public"]'
    for pieces in ([text], list(text), [text + " " * 60]):
        whole, copied, _ = copy(pieces)
        assert (whole, json.loads(copied)) == (True, [r"\d+\.\w \(\[ C:\Users\Public"])


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ('{"a": 1}', '{"a": 1}'),
        (r'"{\"a\": \"x\ny\"}"', r'{"a": "x\ny"}'),
        ("\"{'a': None,}\"", '{"a": null}'),
        (r'"\"{\\\"a\\\": 1}\""', '{"a": 1}'),
        ('"  "', "{}"),
        ('"null"', "{}"),
        ("[]", "{}"),
        ('"x"', ""),
        ('"{} {}"', ""),
        ("5", ""),
        ("[1]", ""),
    ],
)
def test_arguments_may_be_encoded_as_a_string(value: str, meant: str) -> None:
    assert read_object(value) == meant


@pytest.mark.parametrize(
    "text",
    [
        '{"a": }',
        "{a: 1}",
        '{"a" 1}',
        "[1,,]",
        "[,]",
        "[1 2]",
        '{"a": 01}',
        '{"a": NaN}',
        '"\\x41"',
        "[}",
    ],
)
def test_what_is_not_json_stops_the_copy(text: str) -> None:
    for pieces in ([text + " " * 60], list(text)):
        assert copy(pieces)[0] is False


def test_depth_is_bounded_the_same_in_one_piece_and_in_many() -> None:
    for depth, fits in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
        text = "[" * depth + "]" * depth
        assert copy([text])[0] is fits
        assert copy(list(text))[0] is fits


def test_an_endless_number_is_refused() -> None:
    assert copy(["[" + "9" * 5000 + "]"])[0] is False
    assert copy(["[", *"9" * 5000, "]"])[0] is False


def test_the_fast_way_refuses_what_json_refuses() -> None:
    assert end_of_value('{"a": [1]}x', 0) == 10
    assert end_of_value('{"a": NaN}', 0) == -1
    assert end_of_value("[" * 100_000, 0) == -1


@pytest.mark.parametrize(
    ("text", "json"),
    [
        ("[1,]", "[1]"),
        ('{"a": [1, 2 , ], "b": {"c": 1,},\n}', '{"a": [1, 2  ], "b": {"c": 1}\n}'),
        ('{"a": ",}"}', '{"a": ",}"}'),
    ],
)
def test_a_comma_before_a_closing_bracket_is_dropped(text: str, json: str) -> None:
    for pieces in ([text + " " * 60], list(text)):
        assert copy(pieces)[:2] == (True, json)


@pytest.mark.parametrize(
    ("text", "json"),
    [
        (r'"\ud83d"', r'"\ufffd"'),
        (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
        (r'"\uDE00 \uD83D\uD83D\uDE00"', r'"\ufffd \ufffd\uD83D\uDE00"'),
        (r'"\ud83d\u0041\\ud83d"', r'"\ufffd\u0041\\ud83d"'),
    ],
)
def test_half_a_surrogate_pair_is_replaced_however_it_comes(text: str, json: str) -> None:
    for pieces in ([text + " " * 60], list(text), [text]):
        assert copy(pieces)[:2] == (True, json)


@pytest.mark.parametrize("value", ["0", "true", "-1.5e3", "1" * 60, '"x"', "[1]"])
@pytest.mark.parametrize("behind", ['"<tool_call>', "x", "}", ", ", "]", ""])
def test_it_does_not_matter_where_a_value_is_cut(value: str, behind: str) -> None:
    """Nor how much is buffered behind it: a long buffer takes another path."""
    text = value + behind + "-" * 60 * bool(behind)
    reference = copy(list(text))
    for cut in range(1, len(text)):
        assert copy([text[:cut], text[cut:]]) == reference
    assert copy([text]) == reference
