"""The content of a message: text, or typed parts.

A part keeps the JSON it was read from (`WireJson`). A backend that speaks the same wire format
gets that JSON unchanged, including unknown fields. Any other backend gets the typed fields. A part
of an unknown type is opaque: only a backend that speaks its wire format can use it.
"""

from typing import TypeAlias

import msgspec


class WireJson(msgspec.Struct, frozen=True, gc=False):
    """The JSON that a part was read from, and its wire format."""

    wire: str
    json: bytes


class TextPart(msgspec.Struct, frozen=True):
    """Text."""

    text: str
    origin: WireJson | None = None


class ImagePart(msgspec.Struct, frozen=True):
    """An image: a `data:` URL, or one that the backend fetches."""

    url: str
    detail: str | None = None
    origin: WireJson | None = None


class AudioPart(msgspec.Struct, frozen=True):
    """Audio, encoded as base64."""

    data: str
    format: str
    origin: WireJson | None = None


class FilePart(msgspec.Struct, frozen=True):
    """A document: its data as base64, or the id of a file that the backend stores."""

    data: str | None = None
    name: str | None = None
    file_id: str | None = None
    origin: WireJson | None = None


class RefusalPart(msgspec.Struct, frozen=True):
    """The assistant's refusal to answer."""

    text: str
    origin: WireJson | None = None


class OpaquePart(msgspec.Struct, frozen=True):
    """A part of an unknown type. `kind` is its type on the wire."""

    kind: str
    origin: WireJson


Part: TypeAlias = TextPart | ImagePart | AudioPart | FilePart | RefusalPart | OpaquePart
Content: TypeAlias = str | tuple[Part, ...] | None

_KINDS: dict[type, str] = {
    ImagePart: "image_url", AudioPart: "input_audio", FilePart: "file", RefusalPart: "refusal",
}  # fmt: skip


def kind_of(part: Part) -> str:
    """Return a placeholder for a part that is not text."""
    return part.kind if isinstance(part, OpaquePart) else _KINDS.get(type(part), "text")


def not_shown(part: FilePart) -> str:
    """Return the text that stands for a file that a model cannot be shown."""
    return f"({part.name or 'a file'}, not shown: this model takes no files)"


def text_of(content: Content, between: str = "") -> str:
    """Return the text of `content`, with placeholders for other parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return between.join(
        part.text if isinstance(part, TextPart) else f"[{kind_of(part)}]" for part in content
    )


def error_text(text: str) -> str:
    """Format the result of a failed tool, for wire formats that cannot flag errors."""
    return text if text[:5].lower() == "error" else f"Error: {text}"


def error_content(content: Content) -> Content:
    """Like `error_text`, for content that may have parts."""
    if content is None or isinstance(content, str):
        return error_text(content or "")
    first = content[0] if content else None
    if isinstance(first, TextPart):
        return (TextPart(error_text(first.text)), *content[1:])
    return (TextPart(error_text("")), *content)


def size_of(content: Content) -> int:
    """Estimate the size of `content`, in characters of JSON."""
    if content is None or isinstance(content, str):
        return len(content or "")
    return sum(_size(part) for part in content)


def _size(part: Part) -> int:
    if part.origin is not None:
        return len(part.origin.json)
    if isinstance(part, TextPart):
        return len(part.text)
    return len(msgspec.json.encode(part))
