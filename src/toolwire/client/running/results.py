"""Converts a tool's return value for the model: text, JSON or images, within the limit."""

import base64
import json
import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from toolwire.client.errors import InvalidArguments, ToolError

_ERROR_CHARS = 2000
_IMAGE_BYTES = 20 << 20


@dataclass(frozen=True, slots=True)
class Image:
    """An image that a tool returns, alone or in a list with text."""

    data: bytes = field(repr=False)
    media_type: str = "image/png"

    @classmethod
    def read(cls, path: str | Path) -> "Image":
        """Read an image file."""
        kind, _ = mimetypes.guess_type(str(path))
        return cls(Path(path).read_bytes(), kind or "image/png")

    @property
    def url(self) -> str:
        """The image as a data URL."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of one call: the text for the model, and the function's return value."""

    text: str
    images: Sequence[Image] = ()
    is_error: bool = False
    seconds: float = 0.0
    value: Any = field(default=None, repr=False)


def result_of(value: Any, limit: int, seconds: float = 0.0) -> CallResult:
    """Convert a value that a tool returned."""
    try:
        text, images = _told(value)
    except (TypeError, ValueError, RecursionError) as error:
        return error_of(f"the result of the tool is not a JSON value: {error}", limit, seconds)
    if (size := sum(len(image.data) for image in images)) > _IMAGE_BYTES:
        return error_of(f"the images of the result have {size} bytes, too many", limit, seconds)
    return CallResult(_bounded(text, limit), images, seconds=seconds, value=value)


def raised(error: BaseException, limit: int, seconds: float = 0.0) -> CallResult:
    """Convert an exception that a tool raised: its type and message, without the traceback."""
    if isinstance(error, ToolError):
        return error_of(str(error), limit, seconds)
    if isinstance(error, InvalidArguments):
        return unfit_arguments(error, limit)
    said = _message(error)
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return error_of(text, min(limit, _ERROR_CHARS), seconds)


def unfit_arguments(error: InvalidArguments, limit: int) -> CallResult:
    """Describe invalid arguments, precisely enough for the model to fix them in one attempt."""
    return error_of(
        f"the arguments do not fit the tool's parameters. {error}. Call it again with arguments "
        "that fit.",
        min(limit, _ERROR_CHARS),
    )


def error_of(text: str, limit: int, seconds: float = 0.0) -> CallResult:
    """Return an error result for the model."""
    return CallResult(_bounded(f"Error: {text}", limit), is_error=True, seconds=seconds)


def tool_message(call_id: str, result: CallResult) -> dict[str, Any]:
    """Return the tool message that answers a call."""
    text = result.text
    if count := len(result.images):
        shown = "An image follows" if count == 1 else f"{count} images follow"
        text = "\n".join(filter(None, [text, f"({shown} in the next message.)"]))
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def image_message(named: Sequence[tuple[str, CallResult]]) -> dict[str, Any] | None:
    """Return the images of a turn's results as a user message. Tool messages cannot hold images."""
    parts: list[dict[str, Any]] = []
    for name, result in named:
        for image in result.images:
            parts.append({"type": "text", "text": f"Image returned by the tool {name}:"})
            parts.append({"type": "image_url", "image_url": {"url": image.url}})
    return {"role": "user", "content": parts} if parts else None


def _told(value: Any) -> tuple[str, list[Image]]:
    if isinstance(value, str):
        return value, []
    items = value if isinstance(value, list | tuple) else [value]
    images = [item for item in items if isinstance(item, Image)]
    if not images:
        return _json(value), []
    texts = [_told(item)[0] for item in items if not isinstance(item, Image)]
    return "\n".join(texts), images


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode()
    except UnicodeEncodeError:
        # A file name that is not valid UTF-8: the standard library escapes it.
        return json.dumps(msgspec.to_builtins(value, enc_hook=_plain))


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} objects cannot be written as JSON")


def _message(error: BaseException) -> str:
    try:
        return f"no such key: {error}" if isinstance(error, KeyError) else str(error)
    except Exception:  # noqa: BLE001 - an exception of the user's that cannot even be shown
        return ""


def _bounded(text: str, limit: int) -> str:
    # File names and the like may not be valid UTF-8, and a request must be.
    text = text.encode("utf-8", "backslashreplace").decode()
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut: these are the first {limit} of {len(text)} characters]"
