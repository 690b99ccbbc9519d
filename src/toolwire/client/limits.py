"""How far a run may go."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run. At the last turn, and when calls or tokens are spent, the model is asked
    for text; a run that takes longer than `seconds` raises `LimitReached`."""

    turns: int = 32
    """Requests to the model."""
    calls: int = 256
    """Tool calls in all. A call beyond is answered with an error."""
    tokens: int | None = None
    """Tokens of all turns together, as the server counts them."""
    seconds: float | None = None
    """The whole run."""
    tool_seconds: float | None = 120.0
    """One call, unless its tool has a timeout of its own."""
    result_chars: int = 100_000
    """Text of one result. What is longer is cut, and the model is told."""
    concurrency: int = 64
    """Calls that run at the same time."""

    def __post_init__(self) -> None:
        for name in ("turns", "result_chars", "concurrency"):
            if getattr(self, name) < 1:
                raise ValueError(f"Limits.{name} is {getattr(self, name)}; it must be 1 or more.")
