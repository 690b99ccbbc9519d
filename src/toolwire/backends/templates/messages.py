"""A conversation as chat templates expect it: plain objects, texts only, roles that they know."""

from collections.abc import Sequence
from typing import Any

from toolwire.errors import Place, UpstreamRefused
from toolwire.protocol.content import Content, TextPart, kind_of, text_of
from toolwire.protocol.requests import Message


def template_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages, as a template is given them. Raises `UpstreamRefused` for what is no text."""
    return [_message(number, message) for number, message in enumerate(messages)]


def _message(number: int, message: Message) -> dict[str, Any]:
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
    """The same conversation for a template that has no system role or wants roles to alternate."""
    made: list[dict[str, Any]] = []
    for message in messages:
        role = "user" if message["role"] == "system" else message["role"]
        if made and made[-1]["role"] == role:
            text = f"{made[-1]['content']}\n\n{message['content']}"
            made[-1] = {"role": role, "content": text}
        else:
            made.append({**message, "role": role})
    return made
