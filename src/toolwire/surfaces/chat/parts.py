"""Converts content parts, in the form of OpenAI's chat API, to typed parts."""

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
from toolwire.surfaces.explain import bad_value, decode, json_kind, missing, wrong_type


class _Part(msgspec.Struct):
    """Any part."""

    type: str
    text: Any = None
    image_url: Any = None
    input_audio: Any = None
    file: Any = None
    refusal: Any = None


_decode = msgspec.json.Decoder(_Part)
_FIELDS: dict[str, tuple[str, ...]] = {
    "text": ("str",), "refusal": ("str",), "file": ("object",), "input_audio": ("object",),
    "image_url": ("object", "str"),
}  # fmt: skip
"""OpenAI's types, each with the field of the same name and its allowed types. Some servers accept
an image URL as a plain string."""
_OTHERS = frozenset(
    [
        "audio",
        "audio_url",
        "video",
        "video_url",
        "image",
        "image_embeds",
        "document_url",
        "thinking",
        "reference",
    ]
)
"""Types of other servers, forwarded as opaque parts."""
_SUPPORTED = "'text', 'image_url', 'input_audio', 'refusal', and 'file'"
_FILE = ("file_data", "filename", "file_id")


def read_part(raw: bytes, where: str) -> Part:
    """Decode one part. Raises `RequestError` with the location if it is invalid or incomplete."""
    part = decode(_decode, raw, where)
    origin = WireJson(WIRE, raw)
    if part.type in _OTHERS:
        return OpaquePart(part.type, origin)
    _check(part, where)
    if part.type == "text":
        return TextPart(part.text, origin)
    if part.type == "refusal":
        return RefusalPart(part.refusal, origin)
    if isinstance(part.image_url, dict) and isinstance(url := part.image_url.get("url"), str):
        return ImagePart(url, _text(part.image_url, "detail"), origin)
    if isinstance(part.input_audio, dict) and (data := _text(part.input_audio, "data")):
        return AudioPart(data, _text(part.input_audio, "format") or "", origin)
    if isinstance(part.file, dict):
        data, name, file_id = (_text(part.file, key) for key in _FILE)
        return FilePart(data, name, file_id, origin)
    return OpaquePart(part.type, origin)


def _check(part: _Part, where: str) -> None:
    kinds = _FIELDS.get(part.type)
    if kinds is None:
        raise bad_value(part.type, f"{where}.type", _SUPPORTED)
    value = getattr(part, part.type)
    if value is None:
        raise missing(f"{where}.{part.type}")
    if json_kind(value) not in kinds:
        raise wrong_type(f"{where}.{part.type}", " | ".join(kinds), json_kind(value))
    if part.type == "image_url" and isinstance(value, dict) and "url" not in value:
        raise missing(f"{where}.image_url.url")
    if part.type == "input_audio" and "data" not in value:
        raise missing(f"{where}.input_audio.data")


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None
