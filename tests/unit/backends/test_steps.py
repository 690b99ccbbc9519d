"""Large fragments are divided, and say the same (R17)."""

import pytest

from toolwire.backends.steps import STEP, in_steps
from toolwire.protocol.fragments import CallFragment, Fragment

LONG = "".join(chr(97 + n % 26) for n in range(3 * STEP + 7))
BROKEN = '{"a": "' + LONG


def test_small_ones_stay_as_they_are() -> None:
    fragments = [Fragment(text="x" * STEP), Fragment(finish="stop"), Fragment(gap=True)]
    assert list(in_steps(fragments)) == fragments


def test_text_keeps_its_place_between_reasoning_and_the_end() -> None:
    whole = Fragment(2, LONG, "why", finish="stop", logprobs=b"{}", extras=(("refusal", b"1"),))
    first, *_, last = parts = list(in_steps([whole]))
    assert "".join(part.text for part in parts) == LONG
    assert max(len(part.text) for part in parts) == STEP
    assert (first.reasoning, first.logprobs, first.finish) == ("why", b"{}", None)
    assert (last.text, last.reasoning, last.finish, last.extras) == ("", "", "stop", whole.extras)
    assert {part.choice for part in parts} == {2}


@pytest.mark.parametrize("index", [None, 3])
def test_arguments_that_are_not_complete_json_are_divided(index: int | None) -> None:
    calls = CallFragment(index, "id", "f", BROKEN), CallFragment(index, "b", "g", "{}")
    parts = [c for f in in_steps([Fragment(text="t", calls=calls)]) for c in f.calls]
    assert [(c.id, c.name) for c in parts if c.name] == [("id", "f"), ("b", "g")]
    assert "".join(c.arguments for c in parts[:-1]) == BROKEN
    assert {c.index for c in parts} == {index}


@pytest.mark.parametrize("arguments", [BROKEN + '"}', {"a": LONG}, None])
def test_complete_arguments_stay_whole(arguments: object) -> None:
    fragments = [Fragment(calls=(CallFragment(0, "id", "f", arguments),))]
    assert list(in_steps(fragments)) == fragments
