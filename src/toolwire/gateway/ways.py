"""How a model is given tools: natively, natively with its text watched, or by the prompt.

`auto` begins with native tools and watches the text. A backend that refuses tools, or answers in
prose although a call was demanded, is remembered, and from then on tools go into the prompt.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from toolwire.errors import UpstreamError, UpstreamRefused

Mode: TypeAlias = Literal["native", "watched", "prompted", "auto"]
Kind: TypeAlias = Literal["native", "watched", "prompted"]

DEFAULT_FORMAT = "hermes"
"""What most open models have seen, whatever they were taught last."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way: `format` is how calls are read from text, None if text is only text."""

    kind: Kind
    format: str | None = None

    def __str__(self) -> str:
        return f"{self.kind}; format={self.format}" if self.format else self.kind


NATIVE = Way("native")


def refuses_tools(error: UpstreamError) -> bool:
    """Whether a backend's refusal is about tools: there is no code for it, so its words decide."""
    return isinstance(error, UpstreamRefused) and "tool" in error.message.casefold()


@dataclass(slots=True)
class Ways:
    """The ways of one served model, and what was learned about its backends."""

    mode: Mode = "native"
    format: str | None = None
    without_tools: set[tuple[str, str]] = field(default_factory=set)
    """(backend, model) pairs that turned out not to take tools."""

    def choose(self, backend: str, model: str) -> Way:
        """The way for the next turn."""
        if self.mode == "native":
            return NATIVE
        name = self.format or DEFAULT_FORMAT
        if self.mode == "prompted" or (backend, model) in self.without_tools:
            return Way("prompted", name)
        return Way("watched", name)

    def learn(self, backend: str, model: str) -> bool:
        """This backend does not take tools; whether that changes the way."""
        if self.mode != "auto" or (backend, model) in self.without_tools:
            return False
        self.without_tools.add((backend, model))
        return True
