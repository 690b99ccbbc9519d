"""The signed header: what was written is read, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwire.surfaces.native.call_map import (
    MOST_CHARACTERS,
    CallMapSigner,
    InvalidCallMap,
    SignedMap,
)
from toolwire.surfaces.native.ids import ToolCallIdMap

SIGNER = CallMapSigner(b"secret")
OURS = st.builds(lambda number: f"call_{number:032x}", st.integers(0, 2**128 - 1))
IDS = st.dictionaries(OURS | st.text(min_size=1, max_size=40), st.text(max_size=20), max_size=10)


@given(IDS, st.booleans())
def test_what_was_written_is_read(pairs: dict[str, str], truncated: bool) -> None:
    try:
        str(pairs).encode()
    except UnicodeEncodeError:
        return
    ids = ToolCallIdMap(pairs)
    found = SIGNER.read(SIGNER.write(SignedMap(ids, truncated), "key"), "key")
    assert found.ids.pairs == ids.pairs
    assert found.truncated == truncated


@pytest.mark.parametrize("owner", ["", "kez", "key\0"])
def test_a_map_of_another_key_is_refused(owner: str) -> None:
    written = SIGNER.write(SignedMap(ToolCallIdMap({"call_a": "1"})), "key")
    with pytest.raises(InvalidCallMap):
        SIGNER.read(written, owner)


def test_a_map_of_another_server_is_refused() -> None:
    written = CallMapSigner(b"other").write(SignedMap(ToolCallIdMap({"call_a": "1"})), "")
    with pytest.raises(InvalidCallMap):
        SIGNER.read(written, "")


@given(st.data())
def test_a_changed_map_is_refused(data: st.DataObject) -> None:
    written = SIGNER.write(SignedMap(ToolCallIdMap({"call_a": "1", "call_b": "2"})), "")
    at = data.draw(st.integers(0, len(written) - 1))
    letter = data.draw(st.characters(codec="latin-1"))
    changed = written[:at] + letter + written[at + 1 :]
    if changed != written:
        with pytest.raises(InvalidCallMap):
            SIGNER.read(changed, "")


@given(st.text(max_size=60))
def test_anything_else_is_refused(value: str) -> None:
    with pytest.raises(InvalidCallMap):
        SIGNER.read(value, "")


def test_a_long_map_keeps_the_newest_calls_and_says_so() -> None:
    ids = ToolCallIdMap({f"call_{number:032x}": f"provider-{number}" for number in range(1000)})
    written = SIGNER.write(SignedMap(ids), "")
    assert len(written) <= MOST_CHARACTERS
    found = SIGNER.read(written, "")
    assert found.truncated
    kept = list(found.ids.pairs)
    assert kept == list(ids.pairs)[-len(kept) :]
    assert len(kept) > 80
