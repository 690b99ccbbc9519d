"""Text of others in a prompt that is written out: it cannot start, end or forge a turn.

For a backend that renders the model's chat template itself. A server that is sent messages keeps
text and turns apart, or not, by itself; there nothing is changed.
"""

from collections.abc import Sequence

from msgspec import structs

from toolwire.formats.escape_markers import break_up
from toolwire.protocol.content import Content, TextPart
from toolwire.protocol.requests import Message


def escaped(messages: Sequence[Message], marks: tuple[str, ...]) -> Sequence[Message]:
    """The messages, whatever their role, with the marks of turns broken up in what they say.

    The arguments of calls are left to whoever writes them: here they are still JSON.
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
