"""Limits of a run."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run. In the last turn, and when calls or tokens are used up, the model must
    answer with text. A run that takes longer than `seconds` raises `LimitReached`."""

    turns: int = 32
    """Maximum requests to the model."""
    calls: int = 256
    """Maximum tool calls in total. Further calls get an error as their result."""
    tokens: int | None = None
    """Maximum tokens of all turns combined, as reported by the server."""
    seconds: float | None = None
    """Time limit of the whole run."""
    tool_seconds: float | None = 120.0
    """Time limit of one call, unless its tool has its own timeout."""
    result_chars: int = 100_000
    """Maximum length of one result. Longer text is truncated, and the model is told."""
    concurrency: int = 64
    """Maximum concurrent calls."""

    def __post_init__(self) -> None:
        for name in ("turns", "result_chars", "concurrency"):
            if getattr(self, name) < 1:
                raise ValueError(f"Limits.{name} is {getattr(self, name)}; it must be 1 or more.")
