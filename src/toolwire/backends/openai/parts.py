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
    not_shown,
)

WIRE = "openai_chat"
"""Marks parts and parameters of this API, which its servers get verbatim."""

_UNNAMED = "document.pdf"
"""The name of a file whose client gave none: the API requires one."""
_encode = msgspec.json.Encoder().encode


def encode_parts(parts: Sequence[Part], *, files: bool = True) -> Raw:
    """Encode the array of a message's content. Without `files`, a line of text stands for each."""
    shown = parts if files else [_as_text(part) if is_hidden(part) else part for part in parts]
    return Raw(b"[" + b",".join(map(_encode_part, shown)) + b"]")


def is_hidden(part: Part) -> bool:
    """Whether a part is not sent to a server that takes no files. A client of this API may know
    better, so its own files are."""
    return isinstance(part, FilePart) and not _is_own(part)


def _as_text(part: Part) -> Part:
    return TextPart(not_shown(part)) if isinstance(part, FilePart) else part


def _is_own(part: Part) -> bool:
    return part.origin is not None and part.origin.wire == WIRE


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
            name = name or (_UNNAMED if data else None)
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
