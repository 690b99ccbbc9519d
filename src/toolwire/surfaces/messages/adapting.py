"""Adapts a request that a backend refused, by removing the unsupported feature.

Agents request 32000 tokens, thinking and images from every model, and cannot be configured
otherwise. If the backend's error names one of these, the request is retried without it. Changes are
reported. Anything essential remains an error, as on every other surface.
"""

import operator
import re
from collections.abc import Callable

from msgspec.structs import replace

from toolwire.errors import GatewayError, UpstreamRefused
from toolwire.protocol.content import FilePart, ImagePart, Part, TextPart, not_shown
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.surfaces.messages.blocks import joined
from toolwire.surfaces.messages.errors import sizes_in
from toolwire.surfaces.messages.tokens import estimated_prompt

_MARGIN = 32
"""Margin for tokens that a server counts but does not report."""
_LEAST = 16
"""Minimum length of an answer, in tokens, that is worth a retry."""
_ROOM = 1.1
"""Margin for a prompt whose size the server does not say."""
_NUMBER = re.compile(r"\d{3,}")
_LIMIT = ("max_tokens", "max_completion_tokens", "max_new_tokens", "completion tokens")
_THINKING = (
    "reasoning_effort",
    "reasoning effort",
    "reasoning.effort",
    "reasoning value",
    "think value",
    "thinking",
    "template_kwarg",
    "chat_template",
)
_FORMAT = ("response_format", "json_schema", "structured output", "grammar")
_IMAGES = ("image", "multimodal", "vision", "text only")
_FILES = ("file", "document", "pdf", "content type", "content part", "text only")
NOT_SHOWN = "(image, not shown: this model takes text only)"


def without_refused(request: Request, error: GatewayError) -> Request | None:
    """Return the adapted request, or None if the error stands."""
    if not isinstance(error, UpstreamRefused) or error.status not in (400, 413, 422):
        return None
    words = f"{error.message} {error.param or ''}".casefold().replace(",", "")
    for rule in _RULES:
        if (changed := rule(request, words)) is not None:
            return changed
    return None


def fewer_tokens(request: Request, most: int) -> Request | None:
    """Return the request with a lower `max_tokens`, or None if there is no room for an answer."""
    asked = request.sampling.max_tokens
    if asked is None or most >= asked or most < _LEAST:
        return None
    lowered = replace(request.sampling, max_tokens=most)
    return adjusted(replace(request, sampling=lowered), "max_tokens")


def _lower_limit(request: Request, words: str) -> Request | None:
    """Lower the limit: the prompt fits the context, but the requested answer does not."""
    prompt, window = sizes_in(words)
    if prompt is not None and window is not None and prompt < window:
        return fewer_tokens(request, window - prompt - _MARGIN)
    asked = request.sampling.max_tokens or 0
    if not any(word in words for word in _LIMIT):
        return None if window is None or prompt is not None else _lower_by_guess(request, window)
    allowed = [int(said) for said in _NUMBER.findall(words) if int(said) < asked]
    return fewer_tokens(request, max(allowed)) if allowed else None


def _lower_by_guess(request: Request, window: int) -> Request | None:
    """Lower the limit if the prompt seems to fit the context, and the answer does not."""
    prompt = int(estimated_prompt(request.messages, request.tools.size) * _ROOM)
    asked = request.sampling.max_tokens or 0
    return fewer_tokens(request, window - prompt) if prompt < window < prompt + asked else None


def _leave_out_thinking(request: Request, words: str) -> Request | None:
    sampling = replace(request.sampling, reasoning_effort=None, thinking=None)
    if sampling == request.sampling or not any(word in words for word in _THINKING):
        return None
    return adjusted(replace(request, sampling=sampling), "thinking")


def _ask_for_json(request: Request, words: str) -> Request | None:
    """Describe the response format in the prompt, for a server without structured output."""
    wanted = request.response_format
    if wanted is None or not any(word in words for word in _FORMAT):
        return None
    text = f"Answer with nothing but JSON that fits this JSON Schema: {wanted.json_schema.decode()}"
    first = request.messages[0]
    if first.role == "system":
        said = f"{first.content}\n\n{text}"
        messages = (replace(first, content=said), *request.messages[1:])
    else:
        messages = (ChatMessage("system", text), *request.messages)
    changed = replace(request, messages=messages, response_format=None)
    return adjusted(changed, "output_config.format")


def _leave_out_images(request: Request, words: str) -> Request | None:
    if not any(word in words for word in _IMAGES):
        return None
    messages = tuple(map(_without_images, request.messages))
    if messages == request.messages:
        return None
    return adjusted(replace(request, messages=messages), "image")


def _without_images(message: ChatMessage) -> ChatMessage:
    if not isinstance(message.content, tuple):
        return message
    parts: list[Part] = [
        TextPart(NOT_SHOWN) if isinstance(part, ImagePart) else part for part in message.content
    ]
    return replace(message, content=joined(parts))


def adjusted(request: Request, name: str) -> Request:
    """Return the request, with a note that this part was changed."""
    return replace(request, adjusted=tuple(dict.fromkeys((*request.adjusted, name))))


def _leave_out_files(request: Request, words: str) -> Request | None:
    if not any(word in words for word in _FILES):
        return None
    messages = tuple(map(_without_files, request.messages))
    if all(map(operator.is_, messages, request.messages)):
        return None
    return adjusted(replace(request, messages=messages), "document")


def _without_files(message: ChatMessage) -> ChatMessage:
    content = message.content
    if not isinstance(content, tuple) or not any(isinstance(part, FilePart) for part in content):
        return message
    parts = [TextPart(not_shown(p)) if isinstance(p, FilePart) else p for p in content]
    return replace(message, content=joined(parts))


_RULES: tuple[Callable[[Request, str], Request | None], ...] = (
    _lower_limit,
    _leave_out_thinking,
    _ask_for_json,
    _leave_out_images,
    _leave_out_files,
)
