"""An answer whose prompt ended inside the model's reasoning.

Some templates open the reasoning in the prompt, so the answer starts inside it. The opening is put
back in front, as parsers of the model's format expect.
"""

import re

from toolwire.backends.base import Answer, FragmentListener
from toolwire.protocol.fragments import Fragment

_CLOSES = {
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|channel>thought": "<channel|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
}
"""Reasoning openings that are not tags, and their closings."""
_MARKS = "|".join(map(re.escape, _CLOSES))
# `<think>`, `<seed:think>`, `<ifm|think_fast>`, `<think:opensource>`, or one of the others.
_OPEN = re.compile(
    rf"(?:<(?P<tag>(?:\w{{1,16}}+[:|])?think[:\w]{{0,32}}+)>|(?P<mark>{_MARKS}))\s*\Z"
)


def opened_reasoning(prompt: str) -> str:
    """Return the reasoning opening at the end of a prompt, or ""."""
    found = _opening(prompt)
    return found.group() if found else ""


def without_reasoning(prompt: str) -> str:
    """Close the reasoning in a prompt: a constrained answer cannot close it itself."""
    found = _opening(prompt)
    if found is None:
        return prompt
    return prompt + (f"</{found['tag']}>\n\n" if found["tag"] else _CLOSES[found["mark"]])


def _opening(prompt: str) -> re.Match[str] | None:
    return _OPEN.search(prompt, max(0, len(prompt) - 64))


class ReasoningAnswer:
    """Wraps an answer, and puts `opening` before the first text of each choice."""

    def __init__(self, answer: Answer, opening: str) -> None:
        self._answer = answer
        self._opening = opening
        self._opened: set[int] = set()
        self.pause = answer.pause
        self.resume = answer.resume
        self.close = answer.close

    async def relay(self, listener: FragmentListener) -> bool:
        """See `Answer.relay`."""

        def pass_on(fragments: list[Fragment]) -> None:
            listener([piece for fragment in fragments for piece in self._with_opening(fragment)])

        return await self._answer.relay(pass_on)

    def _with_opening(self, fragment: Fragment) -> list[Fragment]:
        if not fragment.text or fragment.choice in self._opened:
            return [fragment]
        self._opened.add(fragment.choice)
        return [Fragment(fragment.choice, self._opening), fragment]
