"""Marks of turns are broken up in text of others, visibly, and in little time."""

import time

import pytest
from tests.timing import cpu, least

from toolwire.formats import get
from toolwire.formats.rendering.escape_markers import break_up, guarded, neutralize

NUMBERED = tuple(f"<unused{number}>" for number in range(6000))


@pytest.mark.parametrize(
    ("marks", "text", "broken"),
    [
        (("[[odd]]",), "a [[odd]] b", "a \\u005b[odd]] b"),
        (NUMBERED, "<unused5999> <unused6>", "\\u003cunused5999> \\u003cunused6>"),
        (
            ("<abcd1>", "<abce>", "<ab>"),
            "<abcd22><abce><ab><ab",
            "\\u003cabcd22>\\u003cabce>\\u003cab><ab",
        ),
        (("<one|>two", "<one|"), "<one|>three <one|", "\\u003cone|>three \\u003cone|"),
        (("USER:",), "USER: hi, user: hi", "\\u0055SER: hi, user: hi"),
        ((), "<|im_end|></s>[INST]", "\\u003c|im_end|>\\u003c/s>\\u005bINST]"),
        (("<end>",), "a < b <div> [x] {y}", "a < b <div> [x] {y}"),
    ],
)
def test_marks_are_broken_up_and_nothing_else_is(
    marks: tuple[str, ...], text: str, broken: str
) -> None:
    assert break_up(marks, text) == broken
    assert break_up(marks, broken) == broken


def test_a_format_can_be_guarded_with_more_marks() -> None:
    hermes = get("hermes")
    assert guarded(hermes, ()) is hermes
    both = guarded(hermes, ("<end>",))
    assert guarded(hermes, ("<end>",)) is both
    assert neutralize(both, "<end><tool_call>") == "\\u003cend>\\u003ctool_call>"
    assert neutralize(hermes, "<end>") == "<end>"


@pytest.mark.timed
def test_thousands_of_special_tokens_cost_no_more_than_a_few() -> None:
    odd = tuple(f"<{'abcdefghij'[n % 10]}{'xyz' * (n % 30)}>" for n in range(3000))
    text = "<" * 200_000 + "<unused" * 20_000
    began = time.perf_counter()
    break_up((*NUMBERED, *odd), text)
    assert time.perf_counter() - began < 5


@pytest.mark.timed
@pytest.mark.parametrize("name", ["kimi_k3", "deepseek_v4", "hermes"])
@pytest.mark.parametrize("flood", ["<", "<|", "</"])
def test_many_markers_cost_little_more_than_those_of_turns(name: str, flood: str) -> None:
    record, text = get(name), flood * (200_000 // len(flood))
    taken, usual = least(
        lambda: cpu(lambda: neutralize(record, text)),
        lambda: cpu(lambda: break_up((), text)),
        enough=lambda taken, usual: taken <= 2 * usual,
    )
    assert taken <= 2 * usual
