"""Our own request: what a surface hands to the gateway, and the gateway to a backend."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call. `parameters` is its JSON Schema, decoded; `{}` means no arguments."""

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    strict: bool = False
