"""Example calls for weak models: exchanges about tools that the client does not have.

They precede the conversation like earlier turns, and are encoded by the same code as the client's
own calls and results. An example of a tool that the client does have, in any spelling, is skipped.
"""

from collections.abc import Collection, Iterator
from itertools import islice

import msgspec

from toolwire.protocol.names import folded
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall

MOST_EXAMPLES = 3


class _Example(msgspec.Struct, frozen=True):
    """A question, the call it leads to, what the tool returns, and the answer."""

    question: str
    tool: str
    arguments: str
    result: str
    answer: str

    def messages(self) -> tuple[ChatMessage, ...]:
        call = AssistantCall(f"example_{self.tool}", self.tool, self.arguments)
        return (
            ChatMessage("user", self.question),
            ChatMessage("assistant", None, (call,)),
            ChatMessage("tool", self.result, call_id=call.call_id),
            ChatMessage("assistant", self.answer),
        )


# One argument, two of different types, an enum: what most tools take. There are twice as many as
# are ever shown, so enough remain whichever tools the client has.
_EXAMPLES = (
    _Example(
        "How do you say good night in Swedish?",
        "translate_text",
        '{"text": "good night", "language": "Swedish"}',
        "god natt",
        "In Swedish it is 'god natt'.",
    ),
    _Example(
        "Start a timer of 12 minutes for the eggs.",
        "start_timer",
        '{"minutes": 12, "label": "eggs"}',
        "started",
        "The timer for the eggs runs for 12 minutes.",
    ),
    _Example(
        "Play the song Yesterday.",
        "play_song",
        '{"title": "Yesterday"}',
        "playing",
        "Yesterday is playing.",
    ),
    _Example(
        "What rhymes with moon?",
        "find_rhymes",
        '{"word": "moon"}',
        "soon, spoon, tune",
        "Soon, spoon and tune rhyme with moon.",
    ),
    _Example(
        "Roll 2 dice with 6 sides.",
        "roll_dice",
        '{"count": 2, "sides": 6}',
        "3 and 5",
        "You rolled a 3 and a 5.",
    ),
    _Example(
        "Who painted the Night Watch?",
        "search_museum",
        '{"work": "Night Watch"}',
        "Rembrandt, 1642",
        "Rembrandt painted it in 1642.",
    ),
)


def examples_for(tools: Collection[str], count: int) -> list[ChatMessage]:
    """Return up to `count` examples for a client that has these tools."""
    return [message for example in islice(_others(tools), count) for message in example.messages()]


def _others(tools: Collection[str]) -> Iterator[_Example]:
    taken = {folded(tool) for tool in tools}
    return (example for example in _EXAMPLES if folded(example.tool) not in taken)
