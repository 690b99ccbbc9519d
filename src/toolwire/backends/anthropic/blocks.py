"""Converts messages to turns of content blocks.

The API has two roles. Tool results are blocks at the start of a user turn. System messages after
the first ones become text of a user turn.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from toolwire.backends.system_prompt import SYSTEM_ROLES
from toolwire.protocol.content import Content, FilePart, ImagePart, Part, TextPart, kind_of, text_of
from toolwire.protocol.ids import IdForm, provider_ids
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall

Block: TypeAlias = dict[str, Any]
NO_OUTPUT = "(no output)"
_REMINDER = "<system-reminder>\n{}\n</system-reminder>"


class WireTurn(msgspec.Struct):
    """One entry of `messages`."""

    role: str
    content: list[Block]


def turns_of(messages: Sequence[ChatMessage], form: IdForm) -> list[WireTurn]:
    """Return the conversation, with consecutive messages of one role joined."""
    ids = provider_ids((call for message in messages for call in message.calls), form)
    turns: list[WireTurn] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = list(_blocks(message, ids))
        if turns and turns[-1].role == role:
            turns[-1].content += blocks
        elif blocks:
            turns.append(WireTurn(role, blocks))
    return turns


def _blocks(message: ChatMessage, ids: dict[str, str]) -> Iterator[Block]:
    if message.role == "tool":
        yield _result(message, ids.get(message.call_id, message.call_id))
    elif message.role in SYSTEM_ROLES:
        if text := text_of(message.content, "\n\n"):
            yield {"type": "text", "text": _REMINDER.format(text)}
    else:
        yield from _content(message.content)
        for call in message.calls:
            yield _use(call, ids[call.call_id])


def _use(call: AssistantCall, call_id: str) -> Block:
    arguments = call.arguments.strip() or "{}"
    return {"type": "tool_use", "id": call_id, "name": call.name, "input": Raw(arguments.encode())}


def _result(message: ChatMessage, call_id: str) -> Block:
    blocks = list(_content(message.content)) or [{"type": "text", "text": NO_OUTPUT}]
    result = {"type": "tool_result", "tool_use_id": call_id, "content": blocks}
    return {**result, "is_error": True} if message.is_error else result


def _content(content: Content) -> Iterator[Block]:
    """Return the blocks of a content. Empty ones are dropped, because the API refuses them."""
    parts = (TextPart(content),) if isinstance(content, str) else content or ()
    for part in parts:
        if not isinstance(part, TextPart):
            yield _other(part)
        elif part.text.strip():
            yield {"type": "text", "text": part.text}


def _other(part: Part) -> Block:
    if isinstance(part, ImagePart):
        return {"type": "image", "source": _source(part.url)}
    if isinstance(part, FilePart) and part.data:
        named = {"title": part.name} if part.name else {}
        return {"type": "document", "source": _source(part.data, "application/pdf"), **named}
    return {"type": "text", "text": f"[{kind_of(part)}]"}


def _source(url: str, kind: str = "") -> Block:
    head, _, data = url.partition(",")
    if head.startswith("data:") and head.endswith(";base64"):
        media_type = head.removeprefix("data:").partition(";")[0]
        return {"type": "base64", "media_type": media_type, "data": data}
    if kind:  # data without a media type
        return {"type": "base64", "media_type": kind, "data": url}
    return {"type": "url", "url": url}
