"""The text of a custom tool while its JSON is still being written."""

import json

import pytest

from toolwire.surfaces.responses.output.json_string import InputReader

TEXT = 'a"b\\c\n\té😀\u2028/ end'


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("blank", ["", " "])
def test_every_cut_gives_the_same_text(ascii_only: bool, blank: str) -> None:
    whole = f'{{{blank}"input"{blank}:{blank}{json.dumps(TEXT, ensure_ascii=ascii_only)}}}'
    for cut in range(len(whole) + 1):
        reader = InputReader()
        assert reader.feed(whole[:cut]) + reader.feed(whole[cut:]) == TEXT, f"cut at {cut}"


def test_one_character_at_a_time_gives_the_same_text() -> None:
    reader = InputReader()
    assert "".join(map(reader.feed, json.dumps({"input": TEXT}))) == TEXT


@pytest.mark.parametrize("arguments", ["*** Begin Patch", '{"other":"x"}', "[]", ""])
def test_nothing_comes_out_of_what_does_not_begin_with_it(arguments: str) -> None:
    assert "".join(map(InputReader().feed, arguments)) == ""


def test_nothing_comes_out_after_what_is_not_json() -> None:
    reader = InputReader()
    assert reader.feed('{"input":"a') == "a"
    assert reader.feed("b\nc") == ""
    assert reader.feed('d"}') == ""
