"""Free text in arguments, however a model wraps it."""

import pytest

from toolwire.protocol.free_text import unwrap_text, wrap_text


@pytest.mark.parametrize("text", ["", "a\r\n b \n", '"quoted"', "é😀", "{not json"])
def test_text_comes_out_as_it_went_in(text: str) -> None:
    assert unwrap_text(wrap_text(text, "input"), "input") == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("*** Begin Patch\n", "*** Begin Patch\n"),
        ('"*** Begin Patch\\n"', "*** Begin Patch\n"),
        ('{"patch":"x"}', "x"),
        ('{"input":"x","why":"y"}', "x"),
        ('{"input":3}', None),
        ('{"a":"x","b":"y"}', None),
        ('{"input":"cut of', None),
        ("[1]", None),
        ("7", None),
    ],
)
def test_the_text_is_found_if_there_is_only_one_reading(arguments: str, text: str | None) -> None:
    assert unwrap_text(arguments, "input") == text
