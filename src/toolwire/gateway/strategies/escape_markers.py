"""Escapes turn markers in a rendered prompt, so that untrusted text cannot inject a turn.

This is for backends that render the model's chat template here. A server that is sent messages is
responsible for separating text and turns, so nothing is changed there.
"""

from collections.abc import Sequence

from msgspec import structs

from toolwire.formats.rendering.escape_markers import break_up
from toolwire.protocol.content import Content, TextPart
from toolwire.protocol.requests import ChatMessage


def escaped(messages: Sequence[ChatMessage], marks: tuple[str, ...]) -> Sequence[ChatMessage]:
    """Return the messages of all roles with turn markers escaped in their content.

    Arguments of calls are still JSON here. The code that writes them into the prompt escapes them.
    """
    if not marks:
        return messages
    return [
        structs.replace(
            message,
            content=_content(message.content, marks),
            reasoning=message.reasoning and break_up(marks, message.reasoning),
            name=message.name and break_up(marks, message.name),
        )
        for message in messages
    ]


def _content(content: Content, marks: tuple[str, ...]) -> Content:
    if content is None or isinstance(content, str):
        return content and break_up(marks, content)
    return tuple(
        TextPart(break_up(marks, part.text)) if isinstance(part, TextPart) else part
        for part in content
    )
