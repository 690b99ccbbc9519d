"""Converts the content of items, strings or lists of parts, to normalized content."""

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from toolwire.errors import RequestError
from toolwire.protocol.content import AudioPart, Content, FilePart, ImagePart, Part, TextPart
from toolwire.surfaces.explain import json_kind, missing, wrong_type

_HIDDEN = "[encrypted content]"
_BETWEEN = "\n"
_TEXT_TYPES = ("application/json", "application/xml", "application/x-yaml")


def read_content(value: Any, where: str, ignored: list[str]) -> Content:
    """Convert content. Text alone becomes a string, because some servers do not accept lists."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise wrong_type(where, "str | array", json_kind(value))
    parts = [part for at, raw in enumerate(value) for part in _read(raw, f"{where}[{at}]", ignored)]
    if all(isinstance(part, TextPart) for part in parts):
        return _BETWEEN.join(part.text for part in parts if isinstance(part, TextPart))
    return tuple(parts)


def joined(one: Content, other: Content) -> Content:
    """Concatenate two contents."""
    if not one or not other:
        return one or other
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return (*_parts(one), *_parts(other))


def _parts(content: Content) -> tuple[Part, ...]:
    if isinstance(content, tuple):
        return content
    return (TextPart(content),) if content else ()


def _read(raw: Any, where: str, ignored: list[str]) -> list[Part]:
    if isinstance(raw, str):
        return [TextPart(raw)]
    if not isinstance(raw, dict):
        raise wrong_type(where, "object", json_kind(raw))
    kind = raw.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        ignored.append(f"{where}:{kind}")
        return []
    if "prompt_cache_breakpoint" in raw:
        ignored.append(f"{where}.prompt_cache_breakpoint")
    if kind == "encrypted_content":
        ignored.append(where)
    return [reader(raw, where)]


def _said(name: str) -> Callable[[Mapping[str, Any], str], Part]:
    def read(raw: Mapping[str, Any], where: str) -> Part:
        return TextPart(_string(raw, name, where))

    return read


def _hidden(_raw: Mapping[str, Any], _where: str) -> Part:
    return TextPart(_HIDDEN)


def _image(raw: Mapping[str, Any], where: str) -> Part:
    url = raw.get("image_url")
    if isinstance(url, dict):  # as in chat completions
        url = url.get("url")
    if url is None:
        raise _needs_data(raw, where, "image_url", "a URL or a data URL")
    if not isinstance(url, str):
        raise wrong_type(f"{where}.image_url", "str", json_kind(url))
    detail = raw.get("detail")
    shown = detail if isinstance(detail, str) else None
    return ImagePart(url, "high" if shown == "original" else shown)


def _file(raw: Mapping[str, Any], where: str) -> Part:
    data, name = raw.get("file_data"), raw.get("filename")
    if data is None:
        raise _needs_data(raw, where, "file_data", "a data URL")
    if not isinstance(data, str):
        raise wrong_type(f"{where}.file_data", "str", json_kind(data))
    called = name if isinstance(name, str) else None
    text = _decoded_text(data)
    if text is None:
        return FilePart(data, called)
    return TextPart(f"{called or 'file'}:\n{text}")


def _audio(raw: Mapping[str, Any], where: str) -> Part:
    inner = raw.get("input_audio", raw)
    if not isinstance(inner, dict):
        raise wrong_type(f"{where}.input_audio", "object", json_kind(inner))
    return AudioPart(
        _string(inner, "data", f"{where}.input_audio"), str(inner.get("format") or "wav")
    )


_READERS: dict[str, Callable[[Mapping[str, Any], str], Part]] = {
    "input_text": _said("text"),
    "output_text": _said("text"),
    "text": _said("text"),
    "summary_text": _said("text"),
    "reasoning_text": _said("text"),
    "refusal": _said("refusal"),
    "input_image": _image,
    "image_url": _image,
    "computer_screenshot": _image,
    "input_file": _file,
    "input_audio": _audio,
    "encrypted_content": _hidden,
}


def _string(raw: Mapping[str, Any], name: str, where: str) -> str:
    value = raw.get(name)
    if value is None:
        raise missing(f"{where}.{name}")
    if not isinstance(value, str):
        raise wrong_type(f"{where}.{name}", "str", json_kind(value))
    return value


def _needs_data(raw: Mapping[str, Any], where: str, name: str, wanted: str) -> RequestError:
    """Return the error for a file without data: files are neither stored nor fetched."""
    given = next((other for other in ("file_id", "file_url") if raw.get(other)), None)
    if given is None:
        return missing(f"{where}.{name}")
    return RequestError(
        f"Unsupported value: '{where}.{given}' is not supported, because files are not stored "
        f"here. Send the data itself as {wanted} in '{name}'.",
        param=f"{where}.{given}",
        code="unsupported_value",
    )


def _decoded_text(url: str) -> str | None:
    """Return the text in a data URL; None if it is not text."""
    head, comma, data = url.partition(",")
    kind = head.removeprefix("data:").partition(";")[0]
    if not comma or not (kind.startswith("text/") or kind in _TEXT_TYPES):
        return None
    try:
        raw = b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)
        return raw.decode()
    except (binascii.Error, ValueError):
        return None
