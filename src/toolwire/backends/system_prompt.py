"""The system prompt of APIs that take it apart from the conversation."""

from collections.abc import Sequence

from toolwire.protocol.content import text_of
from toolwire.protocol.requests import ChatMessage

SYSTEM_ROLES = ("system", "developer")


def split_system(messages: Sequence[ChatMessage]) -> tuple[str, Sequence[ChatMessage]]:
    """Split messages into the system prompt and the rest."""
    ends = (at for at, message in enumerate(messages) if message.role not in SYSTEM_ROLES)
    start = next(ends, len(messages))
    texts = (text_of(message.content, "\n\n") for message in messages[:start])
    return "\n\n".join(filter(None, texts)), messages[start:]
