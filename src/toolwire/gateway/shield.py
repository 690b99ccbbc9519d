"""Text of others in a prompt that is written out: it cannot start, end or forge a turn.

For a backend that renders the model's chat template itself. A server that is sent messages keeps
text and turns apart, or not, by itself; there nothing is changed.
"""

from collections.abc import Sequence
from typing import overload

import msgspec
from msgspec import structs

from toolwire.formats.neutral import break_up
from toolwire.protocol.chat import Message


def shielded(messages: Sequence[Message], marks: tuple[str, ...]) -> Sequence[Message]:
    """The messages, whatever their role, with the marks of turns broken up in what they say.

    The arguments of calls are left to whoever writes them: here they are still JSON.
    """
    if not marks:
        return messages
    return [
        structs.replace(
            message,
            content=_content(message.content, marks),
            reasoning=_content(message.reasoning, marks),
            name=_content(message.name, marks),
        )
        for message in messages
    ]


@overload
def _content(content: str | None, marks: tuple[str, ...]) -> str | None: ...
@overload
def _content(
    content: str | list[bytes] | None, marks: tuple[str, ...]
) -> str | list[bytes] | None: ...
def _content(content: str | list[bytes] | None, marks: tuple[str, ...]) -> str | list[bytes] | None:
    if content is None or isinstance(content, str):
        return content and break_up(marks, content)
    return [_part(raw, marks) for raw in content]


def _part(raw: bytes, marks: tuple[str, ...]) -> bytes:
    part = msgspec.json.decode(raw)
    text = part.get("text")
    if not isinstance(text, str):
        return raw
    return msgspec.json.encode({**part, "text": break_up(marks, text)})
