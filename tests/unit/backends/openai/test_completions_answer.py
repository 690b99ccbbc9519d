"""Reasoning that the prompt has opened is whole again in the answer."""

import asyncio
from typing import Any

import pytest

from toolwire.backends.openai.completions_answer import (
    ReasoningAnswer,
    opened_reasoning,
    without_reasoning,
)
from toolwire.protocol.fragments import Fragment


class Told:
    """An answer of two choices."""

    async def relay(self, listener: Any) -> bool:
        listener([Fragment(0, finish=None), Fragment(0, "So"), Fragment(1, "Hm")])
        listener([Fragment(0, ".</think>4"), Fragment(1, finish="stop")])
        return True

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


def test_each_choice_begins_with_what_the_prompt_ended_with() -> None:
    heard: list[Fragment] = []
    answer = ReasoningAnswer(Told(), "<think>\n")
    assert asyncio.run(answer.relay(heard.extend))
    texts = ["".join(f.text for f in heard if f.choice == choice) for choice in (0, 1)]
    assert texts == ["<think>\nSo.</think>4", "<think>\nHm"]


@pytest.mark.parametrize(
    ("prompt", "opening"),
    [
        ("<|im_start|>assistant\n<think>\n", "<think>\n"),
        ("<｜Assistant｜><think>", "<think>"),
        ("<think>\n\n</think>\n\n", ""),
        ("What is <think> for?", ""),
    ],
)
def test_reasoning_is_open_only_at_the_end_of_a_prompt(prompt: str, opening: str) -> None:
    assert opened_reasoning(prompt) == opening
    closed = without_reasoning(prompt)
    assert closed == (f"{prompt}</think>\n\n" if opening else prompt)


@pytest.mark.parametrize(
    ("opening", "close"),
    [
        ("<seed:think>", "</seed:think>\n\n"),
        ("<mm:think>\n", "</mm:think>\n\n"),
        ("<ifm|think_fast>", "</ifm|think_fast>\n\n"),
        ("<think:opensource>", "</think:opensource>\n\n"),
        ("[THINK]", "[/THINK]"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|channel>thought\n", "<channel|>"),
        ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    ],
)
def test_reasoning_is_opened_and_closed_in_the_words_of_each_model(
    opening: str, close: str
) -> None:
    prompt = f"Why?<assistant>{opening}"
    assert opened_reasoning(prompt) == opening
    assert without_reasoning(prompt) == prompt + close
