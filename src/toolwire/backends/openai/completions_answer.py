"""An answer whose prompt ended inside the model's reasoning.

Some templates open the reasoning in the prompt, so the answer starts inside it. The opening is put
back in front, as parsers of the model's format expect.
"""

from collections.abc import Callable
from typing import TypeAlias

from toolwire.backends.base import Answer, FragmentListener
from toolwire.protocol.fragments import Fragment

OpenedReasoning: TypeAlias = Callable[[str], tuple[str, str]]
"""Returns the opening of reasoning at the end of a prompt and what closes it, or ("", "")."""


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
