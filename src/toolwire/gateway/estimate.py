"""Usage, when a backend gives none: an estimate, and always called one."""

from collections.abc import Sequence

from toolwire.protocol.content import size_of
from toolwire.protocol.requests import Message
from toolwire.protocol.usage import Usage

_CHARACTERS_PER_TOKEN = 4
_PER_MESSAGE = 4


def estimate(messages: Sequence[Message], tools_bytes: int, answer_characters: int) -> Usage:
    """About four characters a token, which holds for English and code within some 20 %."""
    characters = tools_bytes
    for message in messages:
        characters += size_of(message.content)
        characters += sum(len(call.name) + len(call.arguments) for call in message.calls)
    prompt = characters // _CHARACTERS_PER_TOKEN + _PER_MESSAGE * len(messages)
    return Usage(prompt, -(-answer_characters // _CHARACTERS_PER_TOKEN))
