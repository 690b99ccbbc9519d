"""Token usage of a turn."""

from collections.abc import Mapping
from typing import Any

import msgspec

CACHE_CREATION = "cache_creation_tokens"
"""The detail of a prompt for the tokens that were written to the backend's cache."""


class TokenUsage(msgspec.Struct, frozen=True):
    """Tokens consumed by the turn. The details break down the two totals, by name."""

    prompt_tokens: int
    completion_tokens: int
    prompt_details: Mapping[str, int] = {}
    completion_details: Mapping[str, int] = {}

    @property
    def total_tokens(self) -> int:
        """The sum of both totals, whatever the backend reported."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def cached_tokens(self) -> int:
        """Prompt tokens that came from the backend's cache."""
        return self.prompt_details.get("cached_tokens", 0)

    @property
    def reasoning_tokens(self) -> int:
        """Tokens of the answer that were reasoning."""
        return self.completion_details.get("reasoning_tokens", 0)


def reported_usage(
    prompt_tokens: int | None,
    completion_tokens: int | None,
    prompt_details: Mapping[str, Any] | None,
    completion_details: Mapping[str, Any] | None,
) -> TokenUsage | None:
    """Return the usage that a backend reports; None if a total is missing."""
    if prompt_tokens is None or completion_tokens is None:
        return None
    if not (prompt_details or completion_details):
        return TokenUsage(prompt_tokens, completion_tokens)
    details = _figures(prompt_details), _figures(completion_details)
    return TokenUsage(prompt_tokens, completion_tokens, *details)


def _figures(details: Mapping[str, Any] | None) -> dict[str, int]:
    if not details:
        return {}
    return {name: value for name, value in details.items() if type(value) is int}


def add_usage(one: TokenUsage | None, other: TokenUsage | None) -> TokenUsage | None:
    """Return the combined usage of two requests."""
    if one is None or other is None:
        return other or one
    return TokenUsage(
        one.prompt_tokens + other.prompt_tokens,
        one.completion_tokens + other.completion_tokens,
        _sums(one.prompt_details, other.prompt_details),
        _sums(one.completion_details, other.completion_details),
    )


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
