"""Reasoning that a prompt has opened, in the words of every format."""

import pytest

from toolwire.formats import get, join, names
from toolwire.formats.markers import MarkerSet
from toolwire.formats.opened_reasoning import opened_reasoning
from toolwire.formats.parser import Extracted
from toolwire.formats.prose import prose_parser


def read(name: str, text: str) -> Extracted:
    """The text as an answer without calls."""
    parser = prose_parser(name)
    return join([*parser.feed(text), *parser.finish()])


@pytest.mark.parametrize(
    ("prompt", "opening"),
    [
        ("<|im_start|>assistant\n<think>\n", "<think>\n"),
        ("<｜Assistant｜><think>", "<think>"),
        ("<think>\n\n</think>\n\n", ""),
        ("What is <think> for?", ""),
        ("", ""),
    ],
)
def test_reasoning_is_open_only_at_the_end_of_a_prompt(prompt: str, opening: str) -> None:
    assert opened_reasoning(prompt) == (opening, "</think>\n\n" if opening else "")


@pytest.mark.parametrize(
    ("opening", "close"),
    [
        ("<seed:think>", "</seed:think>\n\n"),
        ("<mm:think>\n", "</mm:think>\n\n"),
        ("<ifm|think_fast>", "</ifm|think_fast>"),
        ("<think:opensource>", "</think:opensource>"),
        ("[THINK]", "[/THINK]"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|channel>thought\n", "<channel|>"),
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
        ("<|begin|>assistant<|think|>", "<|end|>"),
        ("Here are my reasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n"),
    ],
)
def test_reasoning_is_opened_and_closed_in_the_words_of_each_model(
    opening: str, close: str
) -> None:
    assert opened_reasoning(f"Why?<assistant>{opening}") == (opening, close)


@pytest.mark.parametrize("name", names())
def test_what_a_prompt_opens_is_read_as_reasoning_until_it_is_closed(name: str) -> None:
    framing = get(name).framing
    reasoning = framing.reasoning if isinstance(framing, MarkerSet) else ()
    for opener in (opener for around in reasoning for opener in around.opens):
        opening, close = opened_reasoning(f"Why?\n\n{opener}")
        assert opening == opener
        read_back = read(name, f"{opening}because{close}Four.")
        assert (read_back.reasoning, (read_back.content or "").strip()) == ("because", "Four."), (
            opener
        )
