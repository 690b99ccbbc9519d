import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwire.protocol.json_boundary import JsonBoundary

texts = st.text(alphabet='ab{}[]"\\,: é', max_size=12)
objects = st.dictionaries(
    texts, st.recursive(texts, lambda inner: st.lists(inner, max_size=3)), max_size=3
)


@settings(max_examples=100, deadline=None)
@given(value=objects, cuts=st.lists(st.integers(0, 200), max_size=5), after=texts)
def test_the_end_of_an_object_is_found_however_it_is_cut(
    value: dict[str, object], cuts: list[int], after: str
) -> None:
    text = json.dumps(value, ensure_ascii=False)
    whole, balance = text + after, JsonBoundary()
    places = [0, *sorted(cut % (len(whole) + 1) for cut in cuts), len(whole)]
    used = sum(balance.feed(whole[a:b]) for a, b in itertools.pairwise(places))
    assert balance.complete
    assert used == len(text)


@pytest.mark.parametrize("text", ["", " ", "null", '"{}"', "12"])
def test_what_is_no_object_never_begins(text: str) -> None:
    balance = JsonBoundary()
    balance.feed(text)
    assert (balance.started, balance.complete) == (False, False)


def test_an_object_within_a_string_is_no_object_however_it_is_cut() -> None:
    balance = JsonBoundary()
    assert [balance.feed(piece) for piece in ('"', "{}", '"')] == [1, 2, 1]
    assert (balance.started, balance.complete) == (False, False)


def test_half_of_a_surrogate_pair_belongs_to_its_object() -> None:
    balance = JsonBoundary()
    assert balance.feed('{"a": "\ud800"}') == 10
    assert balance.complete


@pytest.mark.parametrize("text", ["{", '{"a"', '{"a": "}', '{"a": "\\"}', '{"a": [1}'])
def test_half_an_object_is_not_complete(text: str) -> None:
    balance = JsonBoundary()
    balance.feed(text)
    assert balance.started
    assert not balance.complete


def test_nothing_belongs_to_a_value_that_is_complete() -> None:
    balance = JsonBoundary()
    assert balance.feed("{}{}") == 2
    assert balance.feed("{}") == 0
