"""Reasoning that the prompt has opened is whole again in the answer."""

import asyncio
from typing import Any

from toolwire.backends.openai.completions_answer import ReasoningAnswer
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
