"""How a model is given tools: natively, natively with its text watched, or by the prompt.

`auto` begins with native tools and watches the text. A backend that refuses tools, or answers in
prose although a call was demanded, is remembered for a while, and tools go into the prompt.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, TypeAlias

from toolwire.backends.base import UNKNOWN_MODEL, Backend, ModelFacts
from toolwire.errors import (
    ToolChoiceUnmet,
    ToolsRefused,
    UpstreamError,
    UpstreamRefused,
    UpstreamUnavailable,
)
from toolwire.formats import Detection, detect_model, detect_template
from toolwire.gateway import constraint
from toolwire.protocol.chat import Request

Mode: TypeAlias = Literal["native", "watched", "prompted", "auto"]
Lack: TypeAlias = Literal["tools", "constraint", "union"]

DEFAULT_FORMAT = "hermes"
"""What most open models have seen, whatever they were taught last."""

REMEMBERED = 600.0
"""Seconds after which a backend is tried again: somebody may have given it tools meanwhile."""

_MOST_LEARNED = 1024
_CONSTRAINTS = ("response_format", "json_schema", "structured_outputs", "grammar", "guided")
_TOOLS = ("tool", "function")
_REFUSING = (
    "not support", "unsupported", "support tool use", "not enabled", "disabled", "not implemented",
    "not permitted", "not allowed", "requires --", "unrecognized", "unknown field",
    "unknown parameter", "unknown argument", "unexpected keyword", "unexpected field",
)  # fmt: skip
_OF_ONE_REQUEST = ("schema", "context", "tool_call_id", "role")
"""Words of a refusal that is about these tools, or this conversation, and not about tools."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way. `format` is how calls are read from text, None if text is only text."""

    kind: Literal["native", "watched", "prompted"]
    format: str | None = None
    constrained: bool = False
    examples: int = 0
    """How many calls of other tools the model is shown, where tools are written for it."""
    union: bool = False
    """Constrained to calls, or to the form that the client wants for text."""
    one_call: bool = False
    """The model is asked for one call at most, whatever the client allows."""
    marks: tuple[str, ...] = ()
    """What no text of others may hold: see `ModelFacts.marks`."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.format}" if self.format else self.kind


NATIVE = Way("native")


def lacking(error: UpstreamError, way: Way) -> Lack | None:
    """What the backend, asked this way, turns out not to have.

    There is no code for that: the words of a refusal decide, and they must be about something
    that was sent. Prose where a call is demanded says the same without words; a call of another
    tool than the one demanded does not, for whoever makes it has tools.
    """
    if way.kind == "prompted" and not way.constrained:
        return None
    lack: Lack = "union" if way.union else "constraint" if way.constrained else "tools"
    if isinstance(error, ToolChoiceUnmet):
        return None if error.called and lack == "tools" else lack
    if isinstance(error, ToolsRefused):
        return lack
    if not isinstance(error, (UpstreamRefused, UpstreamUnavailable)):
        return None
    words = f"{error.message} {error.param or ''}".casefold()
    return lack if _REFUSED[lack](words) else None


def _refuses_tools(words: str) -> bool:
    return (
        any(word in words for word in _TOOLS)
        and any(word in words for word in _REFUSING)
        and not any(word in words for word in _OF_ONE_REQUEST)
    )


def _refuses_constraint(words: str) -> bool:
    return any(word in words for word in _CONSTRAINTS)


_REFUSED: dict[Lack, Callable[[str], bool]] = {
    "tools": _refuses_tools,
    "constraint": _refuses_constraint,
    "union": _refuses_constraint,
}


@lru_cache(maxsize=256)
def _watched(format_name: str) -> Way:
    return Way("watched", format_name)


@lru_cache(maxsize=1024)
def _detect(facts: ModelFacts, model: str) -> Detection:
    """By the template, which cannot be wrong; then by what the model is called."""
    called = facts.name or model
    found = detect_template(facts.template, called) or detect_model(called) or detect_model(model)
    return found or Detection(DEFAULT_FORMAT, "nothing tells, and most models know it")


@dataclass(slots=True)
class Ways:
    """The ways of one served model, and what was learned about its backends."""

    mode: Mode = "native"
    format: str | None = None
    examples: int = 0
    clock: Callable[[], float] = lambda: 0.0
    _learned: dict[tuple[str, str, Lack], float] = field(default_factory=dict)

    def choose(
        self, backend: Backend, model: str, *, demanded: bool, optional: Request | None = None
    ) -> Way:
        """The way for the next turn.

        `demanded`: the model must call something. `optional`: in this request it may.
        """
        way = self._way(backend, model, demanded=demanded, optional=optional)
        return replace(way, marks=backend.facts.marks) if backend.facts.marks else way

    def _way(
        self, backend: Backend, model: str, *, demanded: bool, optional: Request | None
    ) -> Way:
        if self.mode == "native":
            return NATIVE
        name = self.format_of(model, backend.facts).format
        if self.mode == "watched" or (self.mode == "auto" and self._has_tools(backend, model)):
            return _watched(name)
        one_call = backend.facts.one_call
        prompted = Way("prompted", name, examples=self.examples, one_call=one_call)
        if not backend.constrains or self._lacks(backend, model, "constraint"):
            return prompted
        held = replace(prompted, format=constraint.FORMAT, constrained=True)
        if demanded or (optional is not None and backend.chooses(optional)):
            return held
        form = optional.response_format if optional is not None else None
        formed = form is not None and form.is_json
        if formed and not self._lacks(backend, model, "union"):
            return replace(held, union=True)
        return prompted

    def format_of(self, model: str, facts: ModelFacts = UNKNOWN_MODEL) -> Detection:
        """The format that is expected of a model, and why."""
        if self.format is not None:
            return Detection(self.format, "it is configured")
        if facts.format:
            return Detection(facts.format, "the model was found to do best in it")
        return _detect(facts, model)

    def known(self, model: str) -> dict[str, str]:
        """What was learned about this model, by backend."""
        return {
            backend: f"without {lack}"
            for (backend, name, lack), at in self._learned.items()
            if name == model and self._remembers(at)
        }

    def learn(self, backend: Backend, model: str, lack: Lack) -> bool:
        """This backend lacks something; whether that is news and changes the way."""
        if self.mode == "native" or (lack == "tools" and self.mode != "auto"):
            return False
        if self._lacks(backend, model, lack):
            return False
        if len(self._learned) >= _MOST_LEARNED:
            del self._learned[next(iter(self._learned))]
        self._learned[backend.name, model, lack] = self.clock()
        return True

    def _has_tools(self, backend: Backend, model: str) -> bool:
        return backend.facts.has_tools and not self._lacks(backend, model, "tools")

    def _lacks(self, backend: Backend, model: str, lack: Lack) -> bool:
        at = self._learned.get((backend.name, model, lack))
        return at is not None and self._remembers(at)

    def _remembers(self, at: float) -> bool:
        return self.clock() - at < REMEMBERED
