"""Which strategy a turn is made with, and what `auto` learns about backends.

A backend that refuses tools, or answers in prose although a call was demanded, is remembered for a
while.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias

from toolwire.backends.base import UNKNOWN, Backend, Capabilities
from toolwire.formats import Detection, detect_model, detect_template
from toolwire.gateway.observer import UNOBSERVED, TurnObserver
from toolwire.gateway.plan import Plan
from toolwire.gateway.strategies.base import Lack, ToolStrategy
from toolwire.gateway.strategies.native import NATIVE, Hybrid
from toolwire.gateway.strategies.prompted import DEFAULT_FORMAT, Constrained, Prompted
from toolwire.protocol.requests import Request

Mode: TypeAlias = Literal["native", "hybrid", "prompted", "auto"]

REMEMBERED = 600.0
"""Seconds after which a backend is tried again: somebody may have given it tools meanwhile."""

_MOST_LEARNED = 1024


_GUESS = Detection(DEFAULT_FORMAT, "nothing tells, and most models know it")


def _may_choose(request: Request) -> bool:
    """Whether the model may be left to choose between text and a call: not if text must have a
    form of its own, and not after a result, because such a model repeats the call it has made."""
    return request.response_format is None and request.messages[-1].role != "tool"


@lru_cache(maxsize=1024)
def _detect(name: str, template: str, model: str) -> Detection:
    """By the template, which cannot be wrong; then by what the model is called."""
    called = name or model
    found = detect_template(template, called) or detect_model(called) or detect_model(model)
    return found or _GUESS


@dataclass(slots=True)
class StrategySelector:
    """Chooses for one served model, and remembers what was learned about its backends."""

    mode: Mode = "native"
    format: str | None = None
    examples: int = 0
    clock: Callable[[], float] = lambda: 0.0
    model: str = ""
    """The model's name, where clients may use others for it, too."""
    observer: TurnObserver = UNOBSERVED
    """Told what was learned, once."""
    _learned: dict[tuple[str, str, Lack], float] = field(default_factory=dict)
    _formats: dict[tuple[str, str], str] = field(default_factory=dict)
    """What the calls of a model were found to be written in, by backend and model."""
    _hybrids: dict[tuple[str, str], tuple[Capabilities, Hybrid]] = field(default_factory=dict)

    def choose(self, backend: Backend, plan: Plan) -> ToolStrategy:
        """The strategy for the next attempt at a turn."""
        strategy = self._choose(backend, plan)
        marks = backend.capabilities.marks
        return replace(strategy, marks=marks) if marks else strategy

    def _choose(self, backend: Backend, plan: Plan) -> ToolStrategy:
        if self.mode == "native":
            return NATIVE
        model, known = self.model or plan.request.model, backend.capabilities
        if plan.strictly and self.can_constrain(backend, model):
            return Constrained(**self._options(backend, model))
        if self.mode == "hybrid" or (self.mode == "auto" and self._has_tools(backend, model)):
            return self._hybrid(backend, model)
        name, guessed, watch = self._format(backend, model)
        options = self._options(backend, model)
        if plan.offers_tools and self.can_constrain(backend, model):
            if plan.demands_call or (known.chooses and _may_choose(plan.request)):
                return Constrained(**options)
            if plan.wants_json and not self._lacks(backend, model, "union"):
                return Constrained(**options, union=True)
        return Prompted(format=name, guessed=guessed, watch=watch, **options)

    def _hybrid(self, backend: Backend, model: str) -> Hybrid:
        """The same one for every turn, as long as nothing new is known."""
        known, at = backend.capabilities, (backend.name, model)
        made = self._hybrids.get(at)
        if made is not None and made[0] is known:
            return made[1]
        name, guessed, watch = self._format(backend, model)
        hybrid = Hybrid(format=name, guessed=guessed, watch=watch)
        if len(self._hybrids) >= _MOST_LEARNED:
            self._hybrids.clear()
        self._hybrids[at] = (known, hybrid)
        return hybrid

    def _options(self, backend: Backend, model: str) -> dict[str, Any]:
        """What every strategy that writes a prompt is told."""
        one_call = backend.capabilities.one_call
        options: dict[str, Any] = {"examples": self.examples, "one_call": one_call}
        if self._lacks(backend, model, "system"):
            options["system_role"] = False
        return options

    def can_constrain(self, backend: Backend, model: str) -> bool:
        """Whether a turn can be held to a JSON Schema of calls."""
        known = self.mode != "native" and backend.capabilities.constrains
        return known and not self._lacks(backend, self.model or model, "constraint")

    def _format(
        self, backend: Backend, model: str
    ) -> tuple[str, bool, Callable[[Detection | None], None] | None]:
        """The format to expect, whether it is a guess, and who is to be told what it is.

        Only a format that something tells and that was seen, too, is certain: then nobody is told.
        One answer to one client must not decide how those to others are read.
        """
        at = backend.name, model
        expected = self.format_of(model, backend.capabilities)
        written, guessed = self._formats.get(at), expected is _GUESS
        if written == expected.format and not guessed:
            return written, False, None
        name = written if written is not None and self.format is None else expected.format
        return name, guessed and written is None, partial(self._settle, at, name)

    def _settle(self, at: tuple[str, str], expected: str, found: Detection | None) -> None:
        if len(self._formats) >= _MOST_LEARNED:
            del self._formats[next(iter(self._formats))]
        written = expected if found is None else found.format
        if found is not None and self._formats.get(at) != written:
            self.observer.learned(*at, "format", written)
        self._formats[at] = written
        self._hybrids.pop(at, None)

    def format_of(self, model: str, known: Capabilities = UNKNOWN) -> Detection:
        """The format that is expected of a model, and why."""
        if self.format is not None:
            return Detection(self.format, "it is configured")
        if known.format:
            return Detection(known.format, "the model was found to do best in it")
        return _detect(known.name, known.template, self.model or model)

    def mode_of(
        self, backend: Backend, model: str
    ) -> tuple[Literal["native", "hybrid", "prompted"], str]:
        """How a model is given tools, as far as is known before a turn, and why."""
        if self.mode != "auto":
            return self.mode, "it is configured"
        if not backend.capabilities.has_tools:
            return "prompted", "the chat template of its model has no place for tools"
        if self._lacks(backend, model, "tools"):
            return "prompted", "it has refused tools"
        return "hybrid", "unless it turns out to have no tools"

    def known(self, model: str) -> dict[str, str]:
        """What was learned about this model, by backend."""
        model = self.model or model
        lacks: dict[str, list[str]] = {}
        for (backend, name, lack), at in self._learned.items():
            if name == model and self._remembers(at):
                lacks.setdefault(backend, []).append(lack)
        return {backend: f"without {', '.join(found)}" for backend, found in lacks.items()}

    def learn(self, backend: Backend, model: str, lack: Lack) -> bool:
        """This backend lacks something; whether that is news and changes the way."""
        if self.mode == "native" or (lack == "tools" and self.mode != "auto"):
            return False
        model = self.model or model
        if self._lacks(backend, model, lack):
            return False
        if len(self._learned) >= _MOST_LEARNED:
            del self._learned[next(iter(self._learned))]
        self._learned[backend.name, model, lack] = self.clock()
        self.observer.learned(backend.name, model, lack)
        return True

    def _has_tools(self, backend: Backend, model: str) -> bool:
        return backend.capabilities.has_tools and not self._lacks(backend, model, "tools")

    def _lacks(self, backend: Backend, model: str, lack: Lack) -> bool:
        at = self._learned.get((backend.name, model, lack))
        return at is not None and self._remembers(at)

    def _remembers(self, at: float) -> bool:
        return self.clock() - at < REMEMBERED
