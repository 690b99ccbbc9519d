"""The text of a stream is cut where the variant says, and says the same."""

import pytest
from tests.scripted.play import names_in, play_stream, read_stream
from tests.scripted.variants import cutting

WORD = "unbreakable"


def test_every_variant_of_cutting_is_described_here() -> None:
    assert names_in(cutting) == {"letters"}


def test_the_text_stays_the_same() -> None:
    text = "Some words,\n\nand more."
    for variant in ("std", "letters", "letters:3"):
        assert read_stream(play_stream(variant, [text])).text == text


@pytest.mark.parametrize(("variant", "size"), [("letters", 1), ("letters:4", 4)])
def test_a_piece_has_so_many_characters(variant: str, size: int) -> None:
    seen = read_stream(play_stream(variant, [WORD]))
    said = [delta["content"] for delta in seen.deltas if delta.get("content")]
    assert seen.text == WORD
    assert {len(piece) for piece in said[:-1]} == {size}
    assert seen.deltas[0] == {"role": "assistant", "content": ""}
