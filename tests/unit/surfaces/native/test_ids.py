"""Our ids and the providers', both ways."""

from hypothesis import given
from hypothesis import strategies as st

from toolwire.surfaces.native.ids import ToolCallIdMap

PAIRS = st.lists(
    st.tuples(st.text("abc", min_size=1, max_size=3), st.text("xyz", max_size=2)), max_size=8
)


@given(PAIRS)
def test_the_two_ways_are_each_others_inverse(pairs: list[tuple[str, str]]) -> None:
    ids = ToolCallIdMap()
    for call_id, provider_id in pairs:
        ids.add(call_id, provider_id)
    assert set(ids.pairs) == {call_id for call_id, _ in pairs}
    given_ids = [provider_id for provider_id in ids.pairs.values() if provider_id]
    assert len(set(given_ids)) == len(given_ids)
    for call_id, provider_id in ids.pairs.items():
        if provider_id:
            assert ids.call_id(provider_id) == call_id
            assert ids.provider_id(call_id, 1) == provider_id
        else:
            assert ids.provider_id(call_id, 1) == "call_1"


def test_an_id_stays_what_it_is() -> None:
    ids = ToolCallIdMap({"call_a": "1"})
    ids.add("call_a", "2")
    ids.add("call_b", "1")
    assert ids.pairs == {"call_a": "1", "call_b": ""}
    assert ids.call_id("2") is None


def test_maps_know_nothing_of_each_other() -> None:
    one, other = ToolCallIdMap(), ToolCallIdMap()
    one.add("call_a", "1")
    assert "call_a" not in other
    assert other.call_id("1") is None
