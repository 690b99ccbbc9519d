"""Converts content parts, in the form of OpenAI's chat API, to typed parts."""

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
from toolwire.surfaces.explain import (
    AudioFormat,
    ImageDetail,
    bad_value,
    decode,
    missing,
)


class _Image(msgspec.Struct):
    url: str
    detail: ImageDetail | None = None


class _Audio(msgspec.Struct):
    data: str
    format: AudioFormat


class _File(msgspec.Struct):
    file_data: str | None = None
    filename: str | None = None
    file_id: str | None = None


class _Part(msgspec.Struct):
    """Any part."""

    type: str
    text: str | None = None
    image_url: _Image | str | None = None
    """Some servers accept a plain string."""
    input_audio: _Audio | None = None
    file: _File | None = None
    refusal: str | None = None


_decode = msgspec.json.Decoder(_Part)
_TYPES = frozenset(["text", "image_url", "input_audio", "file", "refusal"])
"""OpenAI's types, each with a field of the same name."""
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


def read_part(raw: bytes, where: str) -> Part:
    """Decode one part. Raises `RequestError` with the location if it is invalid or incomplete."""
    part = decode(_decode, raw, where)
    origin = WireJson(WIRE, raw)
    if part.type in _OTHERS:
        return OpaquePart(part.type, origin)
    if part.type not in _TYPES:
        raise bad_value(part.type, f"{where}.type", _SUPPORTED)
    value = getattr(part, part.type)
    if value is None:
        raise missing(f"{where}.{part.type}")
    if part.type == "text":
        return TextPart(value, origin)
    if part.type == "refusal":
        return RefusalPart(value, origin)
    if isinstance(value, _Image):
        return ImagePart(value.url, value.detail, origin)
    if isinstance(value, _Audio):
        return AudioPart(value.data, value.format, origin)
    if isinstance(value, _File):
        if value.file_data is None and value.file_id is None:
            raise missing(f"{where}.file.file_id")
        return FilePart(value.file_data, value.filename, value.file_id, origin)
    return OpaquePart(part.type, origin)
