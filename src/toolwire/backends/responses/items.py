"""Converts messages to input items.

Messages become flat items: the reasoning, the text and the calls of one message are items of their
own, in this order, and so are results.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, assert_never

from toolwire.backends.system_prompt import SYSTEM_ROLES
from toolwire.protocol.content import (
    AudioPart,
    Content,
    FilePart,
    ImagePart,
    OpaquePart,
    Part,
    RefusalPart,
    TextPart,
    error_content,
    kind_of,
)
from toolwire.protocol.ids import IdForm, provider_ids
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall

Item: TypeAlias = dict[str, Any]


def items_of(messages: Sequence[ChatMessage], form: IdForm) -> list[Item]:
    """Return the conversation as items."""
    calls = [call for message in messages for call in message.calls]
    ids = provider_ids(calls, form)
    custom = {call.call_id for call in calls if call.kind == "custom"}
    return [item for message in messages for item in _items(message, ids, custom)]


def _items(message: ChatMessage, ids: dict[str, str], custom: set[str]) -> Iterator[Item]:
    if message.role == "tool":
        yield _result(message, ids[message.call_id], custom=message.call_id in custom)
    elif message.role == "assistant":
        for sealed in message.encrypted_reasoning:
            yield {"type": "reasoning", "summary": [], "encrypted_content": sealed}
        if text := _spoken(message.content):
            yield {"type": "message", "role": "assistant", "content": text}
        for call in message.calls:
            yield _call(call, ids[call.call_id])
    else:
        role = "developer" if message.role in SYSTEM_ROLES else "user"
        yield {"type": "message", "role": role, "content": _content(message.content)}


def _call(call: AssistantCall, call_id: str) -> Item:
    if call.kind == "custom":
        said = {"name": call.name, "input": call.arguments}
        return {"type": "custom_tool_call", "call_id": call_id, **said}
    said = {"name": call.name, "arguments": call.arguments.strip() or "{}"}
    return {"type": "function_call", "call_id": call_id, **said}


def _result(message: ChatMessage, call_id: str, *, custom: bool) -> Item:
    content = error_content(message.content) if message.is_error else message.content
    kind = "custom_tool_call_output" if custom else "function_call_output"
    return {"type": kind, "call_id": call_id, "output": _content(content)}


def _spoken(content: Content) -> str:
    """Return the assistant's text. Items of the assistant have no other parts as input."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(
        part.text if isinstance(part, TextPart | RefusalPart) else f"[{kind_of(part)}]"
        for part in content
    )


def _content(content: Content) -> str | list[Item]:
    if content is None or isinstance(content, str):
        return content or ""
    return [_part(part) for part in content]


def _part(part: Part) -> Item:
    match part:
        case TextPart(text) | RefusalPart(text):
            return {"type": "input_text", "text": text}
        case ImagePart(url, detail):
            return {"type": "input_image", "image_url": url, "detail": detail or "auto"}
        case AudioPart(data, kind):
            return {"type": "input_audio", "input_audio": {"data": data, "format": kind}}
        case FilePart(data, name, file_id):
            given = {"file_data": data, "filename": name, "file_id": file_id}
            return {"type": "input_file", **{k: v for k, v in given.items() if v is not None}}
        case OpaquePart():
            return {"type": "input_text", "text": f"[{kind_of(part)}]"}
        case _:
            assert_never(part)
