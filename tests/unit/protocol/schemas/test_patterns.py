import time

import pytest

from toolwire.protocol.schemas.patterns import LONGEST, pattern_cost

CHEAP = [
    "", "^[a-z]+$", "^(a+)+$", r"^\d{4}-\d{2}-\d{2}$", "^[^/]+/[^/]+$", r"^\w+@\w+\.\w+$",
    "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", r"^arn:aws:[\s\S]{1,200}$",
    "^[a-zA-Z0-9_-]{1,64}$", r"\{1,999999\}", r"[{1,999999}]", "a{x}", r"\p{L}",
]  # fmt: skip
COSTLY = [
    "a{1,999999}", "(a{1,500}){1,500}", "((((a{9}){9}){9}){9}){9}", r"\p{L}{1,500}", ".{0,5000}",
    r"[\p{L}\p{N}]{100}", "é{1,9999}", "(?:ab|cd){9999}", "a{99}{99}", "a" * (LONGEST + 1),
    "a{" + "9" * 900 + "}", r"(\p{L}\p{N}\p{P}){100}",
]  # fmt: skip


@pytest.mark.parametrize("pattern", CHEAP)
def test_what_people_write_is_cheap(pattern: str) -> None:
    assert pattern_cost(pattern) < 3_000


@pytest.mark.parametrize("pattern", COSTLY)
def test_what_takes_megabytes_is_costly(pattern: str) -> None:
    assert pattern_cost(pattern) > 6_000


@pytest.mark.parametrize(
    "pattern", ["[", "]", "(", ")", "\\", "{", "}", "a{", "[^", "\\p{", "))(("]
)
def test_any_text_has_a_cost(pattern: str) -> None:
    assert pattern_cost(pattern) < 300


@pytest.mark.timed
@pytest.mark.parametrize("text", ["[", "(", ")", "\\", "{1,", "a{1}", "\\p{", "é", "[\\", "{"])
def test_weighing_takes_no_time(text: str) -> None:
    pattern = (text * LONGEST)[:LONGEST]
    started = time.process_time()
    for _ in range(20):
        pattern_cost(pattern)
    assert time.process_time() - started < 1
