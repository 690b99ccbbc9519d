"""Measured prompt settings and output limits of the models that Toolwire provides. A user's own
model file has none."""

import math
from dataclasses import dataclass

AS_WRITTEN = math.log(0.5)
"""The `call_threshold` of a model that starts calls by itself."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Output limits of a constrained model where its schema sets none. 0: unlimited."""

    string: int = 0
    """Characters per string."""
    array: int = 0
    """Items per array."""
    tokens: int = 0
    """Tokens per answer, which end JSON that could nest forever."""


UNBOUNDED = Bounds()


@dataclass(frozen=True, slots=True)
class ModelTuning:
    """The tuning of one model. None means the engine's default."""

    temperature: float | None = None
    top_p: float | None = None
    call_threshold: float = AS_WRITTEN
    """The log-probability of a call's first token above which it calls: see `call_probe`."""
    format: str = ""
    """The call format for its prompts; by default, its template's."""
    one_call: bool = False
    """Whether output after its first call is noise."""
    examples: int = 0
    """How many example calls of other tools it should be shown."""
    bounds: Bounds = UNBOUNDED
