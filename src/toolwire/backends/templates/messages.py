"""Converts a conversation for chat templates: plain objects, text only, known roles."""

from collections.abc import Sequence
from typing import Any

from toolwire.errors import Place, UpstreamRefused
from toolwire.protocol.content import Content, TextPart, kind_of, text_of
from toolwire.protocol.requests import ChatMessage


def template_messages(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Return the messages for a template. Raises `UpstreamRefused` for non-text content."""
    return [_message(number, message) for number, message in enumerate(messages)]


def _message(number: int, message: ChatMessage) -> dict[str, Any]:
    role = "system" if message.role == "developer" else message.role
    made: dict[str, Any] = {"role": role, "content": _text(number, message.content)}
    if message.reasoning:
        made["reasoning_content"] = message.reasoning
    return made


def _text(number: int, content: Content) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    for at, part in enumerate(content):
        if not isinstance(part, TextPart):
            raise UpstreamRefused(
                f"This model takes text only, and this is a part of type '{kind_of(part)}'.",
                status=400,
                place=Place(message=number, part=at),
                code="unsupported_value",
            )
    return text_of(content, "\n")


def folded(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adapt messages to a template without a system role, or whose roles must alternate."""
    made: list[dict[str, Any]] = []
    for message in messages:
        role = "user" if message["role"] == "system" else message["role"]
        if made and made[-1]["role"] == role:
            text = f"{made[-1]['content']}\n\n{message['content']}"
            made[-1] = {"role": role, "content": text}
        else:
            made.append({**message, "role": role})
    return made
