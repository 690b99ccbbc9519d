"""Encodes content parts as JSON of OpenAI's chat API."""

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec
from msgspec import Raw

from toolwire.protocol.content import (
    AudioPart,
    FilePart,
    ImagePart,
    OpaquePart,
    Part,
    RefusalPart,
    TextPart,
    kind_of,
)

WIRE = "openai_chat"
"""Marks parts and parameters of this API, which its servers get verbatim."""

_encode = msgspec.json.Encoder().encode


def encode_parts(parts: Sequence[Part]) -> Raw:
    """Encode the array of a message's content."""
    return Raw(b"[" + b",".join(map(_encode_part, parts)) + b"]")


def _encode_part(part: Part) -> bytes:
    if part.origin is not None and part.origin.wire == WIRE:
        return part.origin.json
    return _encode(_part(part))


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text):
            return {"type": "text", "text": text}
        case ImagePart(url, detail):
            return {"type": "image_url", "image_url": _given(url=url, detail=detail)}
        case AudioPart(data, kind):
            return {"type": "input_audio", "input_audio": {"data": data, "format": kind}}
        case FilePart(data, name, file_id):
            return {"type": "file", "file": _given(file_data=data, filename=name, file_id=file_id)}
        case RefusalPart(text):
            return {"type": "refusal", "refusal": text}
        case OpaquePart():
            # Only a backend with the part's own API can read it. Others get a placeholder.
            return {"type": "text", "text": f"[{kind_of(part)}]"}
        case _:
            assert_never(part)


def _given(**fields: str | None) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value is not None}
