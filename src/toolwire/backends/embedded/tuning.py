"""How a model likes to be asked, and where it must be stopped: what was measured, for each model
that Toolwire brings along. A model file of the user's has none of this."""

import math
from dataclasses import dataclass

AS_WRITTEN = math.log(0.5)
"""The `call_threshold` of a model that opens its calls itself."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The longest that a held model goes on if a schema does not say. 0: as long as it likes."""

    string: int = 0
    """Characters of a string."""
    array: int = 0
    """Items of an array."""
    tokens: int = 0
    """Tokens of an answer: what ends JSON that may be nested without end."""


UNBOUNDED = Bounds()


@dataclass(frozen=True, slots=True)
class ModelTuning:
    """One model's ways. None: what the engine does with every model."""

    temperature: float | None = None
    top_p: float | None = None
    call_threshold: float = AS_WRITTEN
    """The log-probability of an opening from which on it means a call: see `embedded_choice`."""
    format: str = ""
    """The format in which it is asked; default: by its template."""
    one_call: bool = False
    """Whether what it writes behind its first call is noise."""
    examples: int = 0
    """How many calls of other tools it should be shown."""
    bounds: Bounds = UNBOUNDED
