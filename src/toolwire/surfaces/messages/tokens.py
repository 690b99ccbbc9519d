"""Token counts: the `usage` object, and estimates for prompts.

Estimates are slightly high on purpose: a client that summarizes too late gets an error, one that
does so too early only loses time.
"""

from collections.abc import Sequence
from typing import Any

from toolwire.protocol.content import Content, FilePart, ImagePart, TextPart
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.usage import CACHE_CREATION, TokenUsage

_BYTES_PER_TOKEN = 3.6
_PER_MESSAGE = 4
_PER_IMAGE = 1200
_PAGE = 50_000
"""Bytes of a document that count as an image."""


def usage_fields(usage: TokenUsage) -> dict[str, Any]:
    """Return Anthropic's usage fields. The three input fields add up to the prompt."""
    cached = min(usage.cached_tokens, usage.prompt_tokens)
    written = min(usage.prompt_details.get(CACHE_CREATION, 0), usage.prompt_tokens - cached)
    figures: dict[str, Any] = {
        "input_tokens": usage.prompt_tokens - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.completion_tokens,
    }
    if usage.reasoning_tokens:
        figures["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return figures


def estimated_prompt(messages: Sequence[ChatMessage], tools_bytes: int) -> int:
    """Estimate the number of tokens in a prompt."""
    size, images = tools_bytes, 0
    for message in messages:
        said, shown = _size(message.content)
        size, images = size + said, images + shown
        if message.calls:
            size += sum(len(call.name) + len(call.arguments) for call in message.calls)
    return int(size / _BYTES_PER_TOKEN) + _PER_MESSAGE * len(messages) + _PER_IMAGE * images + 1


def estimated_answer(characters: int) -> int:
    """Estimate the number of tokens in an answer; at least one."""
    return int(characters / _BYTES_PER_TOKEN) + 1


def _size(content: Content) -> tuple[int, int]:
    """Return the bytes of text, and the number of images, or pages."""
    if content is None:
        return 0, 0
    if isinstance(content, str):
        return _bytes(content), 0
    texts = sum(_bytes(part.text) for part in content if isinstance(part, TextPart))
    files = sum(1 + len(p.data or "") // _PAGE for p in content if isinstance(p, FilePart))
    return texts, files + sum(isinstance(part, ImagePart) for part in content)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
