"""Content parts of OpenAI's chat wire: JSON -> typed parts."""

from typing import Any

import msgspec

from toolwire.backends.openai.parts import WIRE
from toolwire.protocol.content import (
    AudioPart,
    FilePart,
    ImagePart,
    OpaquePart,
    Part,
    RefusalPart,
    TextPart,
    WireJson,
)
from toolwire.surfaces.openai.explain import decode


class _Part(msgspec.Struct):
    """Any part. Only its type is checked. A part of another shape is opaque and forwarded."""

    type: str
    text: Any = None
    image_url: Any = None
    input_audio: Any = None
    file: Any = None
    refusal: Any = None


_decode = msgspec.json.Decoder(_Part)
_FILE = ("file_data", "filename", "file_id")


def read_part(raw: bytes, where: str) -> Part:
    """One part; raises `RequestError` naming the place if it is no object with a type."""
    part = decode(_decode, raw, where)
    origin = WireJson(WIRE, raw)
    if isinstance(part.text, str):
        return TextPart(part.text, origin)
    if isinstance(part.refusal, str):
        return RefusalPart(part.refusal, origin)
    if isinstance(part.image_url, dict) and isinstance(url := part.image_url.get("url"), str):
        return ImagePart(url, _text(part.image_url, "detail"), origin)
    if isinstance(part.input_audio, dict) and (data := _text(part.input_audio, "data")):
        return AudioPart(data, _text(part.input_audio, "format") or "", origin)
    if isinstance(part.file, dict):
        data, name, file_id = (_text(part.file, key) for key in _FILE)
        return FilePart(data, name, file_id, origin)
    return OpaquePart(part.type, origin)


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None
