"""The parts of an answer that are the same in both APIs: usage, log probabilities, and fields that
arrive in pieces."""

from typing import Any

import msgspec
from msgspec import Raw

from toolwire.protocol.json_limits import is_wide
from toolwire.protocol.json_numbers import decode_any
from toolwire.protocol.usage import TokenUsage

_encode = msgspec.json.Encoder().encode

_MOST_VALUES = 600_000
"""The most values of log probabilities that are merged. More are left out."""


def encode_usage(usage: TokenUsage) -> bytes:
    """Encode the usage object. The total is always the sum."""
    figures: dict[str, object] = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }
    if usage.prompt_details:
        figures["prompt_tokens_details"] = usage.prompt_details
    if usage.completion_details:
        figures["completion_tokens_details"] = usage.completion_details
    return _encode(figures)


def joined_json(values: list[bytes]) -> Any:
    """Merge the deltas of one field: strings and lists are concatenated, others replaced."""
    parts: list[Any] = []
    for raw in values:
        value = decode_any(raw)
        if parts and not (isinstance(value, (str, list)) and type(parts[0]) is type(value)):
            parts.clear()
        parts.append(value)
    if len(parts) <= 1:
        return parts[0] if parts else None
    return (
        "".join(parts) if isinstance(parts[0], str) else [item for part in parts for item in part]
    )


def join_logprobs(values: list[bytes]) -> Any:
    """Merge the log probabilities of a choice; None if there are none."""
    if len(values) <= 1:
        return Raw(values[0]) if values else None
    joined = b"[" + b",".join(values) + b"]"
    if is_wide(joined, _MOST_VALUES):
        return None
    parts = decode_any(joined)
    return {
        name: [entry for part in parts for entry in _listed(part.get(name))] or None
        for name in ("content", "refusal")
    }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
