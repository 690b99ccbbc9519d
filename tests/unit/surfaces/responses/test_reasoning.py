"""Reasoning that a client carries."""

import zlib
from base64 import urlsafe_b64encode

import pytest

from toolwire.surfaces.responses import reasoning
from toolwire.surfaces.responses.reasoning import Unsealer, seal


def unseal(envelope: str) -> str | None:
    return Unsealer().open(envelope)


@pytest.mark.parametrize("text", ["", "Hm.", "é😀\n" * 1000])
def test_it_comes_back_as_it_was(text: str) -> None:
    assert unseal(seal(text)) == text


@pytest.mark.parametrize(
    "foreign", ["", "gAAAAABo", "tw1.", "tw1.!!!", "tw1.AAAA", "tw1.é", seal("Hm.")[:-4]]
)
def test_what_is_not_ours_is_not_read(foreign: str) -> None:
    assert unseal(foreign) is None


def test_an_envelope_that_was_changed_is_not_read() -> None:
    sealed = seal("I must not.")
    assert unseal(sealed[:20] + ("A" if sealed[20] != "A" else "B") + sealed[21:]) is None


def test_little_that_unpacks_to_much_is_not_read() -> None:
    packed = zlib.compress(b"a" * (reasoning._LONGEST + 1))
    bomb = urlsafe_b64encode(reasoning._checksum(packed) + packed).decode()
    assert unseal(f"tw1.{bomb}") is None


def test_many_that_unpack_to_much_together_are_not_read() -> None:
    unsealer, half = Unsealer(), "a" * (reasoning._LONGEST // 2)
    assert [unsealer.open(seal(half)) for _ in range(4)] == [half, half, None, None]


def test_one_that_is_too_long_leaves_no_room_for_others() -> None:
    unsealer = Unsealer()
    assert unsealer.open(seal("a" * (reasoning._LONGEST + 1))) is None
    assert unsealer.open(seal("b")) is None
