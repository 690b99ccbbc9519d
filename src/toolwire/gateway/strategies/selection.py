"""Selects the strategy of a turn, and remembers what `auto` learns about backends.

It remembers for a while that a backend refused tools, or answered in prose although a call was
required, and the format in which a model writes its calls. Observations of one key count for other
keys only with more evidence (`evidence.py`). What a turn has learned counts for the rest of that
turn in any case. Prose is no evidence against a backend that has made native calls.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias

from toolwire.backends.base import UNKNOWN, Backend, Capabilities
from toolwire.formats import Detection, detect_model, detect_template
from toolwire.gateway.observer import UNOBSERVED, Lack, TurnObserver
from toolwire.gateway.plan import Plan
from toolwire.gateway.strategies.base import ToolStrategy
from toolwire.gateway.strategies.evidence import REMEMBERED, BackendModel, Evidence
from toolwire.gateway.strategies.native import NATIVE, Hybrid, Native
from toolwire.gateway.strategies.prompted import DEFAULT_FORMAT, Constrained, Prompted
from toolwire.protocol.requests import Request

Mode: TypeAlias = Literal["native", "hybrid", "prompted", "auto"]

__all__ = ["REMEMBERED", "Mode", "StrategySelector"]

NATIVE_REMEMBERED = 86_400.0
"""Seconds after a native call during which a backend is assumed to support tools."""

KEYLESS_PROSE = 2
"""Number of turns without a key that must end in prose before it counts for requests without a key:
they may come from many clients."""

_MOST_LEARNED = 1024

_Known: TypeAlias = tuple[Capabilities, str | None, bool, bool]
"""The cache key of a hybrid strategy."""


_NATIVE_WITHOUT_SYSTEM = Native(system_role=False)
_GUESS = Detection(DEFAULT_FORMAT, "nothing tells, and most models know it")


def _native(lacking: Sequence[Lack]) -> Native:
    return _NATIVE_WITHOUT_SYSTEM if "system" in lacking else NATIVE


def _may_choose(request: Request) -> bool:
    """Whether the model may choose between text and a call. Not with a `response_format`, and not
    after a result, because such a model would repeat its call."""
    return request.response_format is None and request.messages[-1].role != "tool"


@lru_cache(maxsize=1024)
def _detect(name: str, template: str, model: str) -> Detection:
    """Detect the format by the template, which is reliable, then by the model's name."""
    called = name or model
    found = detect_template(template, called) or detect_model(called) or detect_model(model)
    return found or _GUESS


@dataclass(slots=True)
class StrategySelector:
    """Chooses strategies for one served model, and remembers what it learned about backends."""

    mode: Mode = "native"
    format: str | None = None
    examples: int = 0
    clock: Callable[[], float] = lambda: 0.0
    model: str = ""
    """The model's own name, if clients may use other names."""
    observer: TurnObserver = UNOBSERVED
    """Notified once of each lesson."""
    _lacking: Evidence[Lack] = field(init=False)
    """The features that backends have refused."""
    _ignoring: Evidence[Lack] = field(init=False)
    """The features that backends seem to lack, because they answered in prose."""
    _formats: Evidence[str] = field(init=False)
    """The observed formats of a model's calls."""
    _called: dict[BackendModel, float] = field(default_factory=dict)
    """When each backend last made a native call."""
    _hybrids: dict[tuple[BackendModel, str], tuple[_Known, Hybrid]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lacking, self._formats = Evidence(self.clock), Evidence(self.clock)
        self._ignoring = Evidence(self.clock, KEYLESS_PROSE)

    def choose(self, backend: Backend, plan: Plan) -> ToolStrategy:
        """Return the strategy for the next attempt at a turn."""
        strategy = self._choose(backend, plan)
        marks = backend.capabilities.marks
        return replace(strategy, marks=marks) if marks else strategy

    def _choose(self, backend: Backend, plan: Plan) -> ToolStrategy:
        known, at = backend.capabilities, self._place(backend, plan.request.model)
        known_lacks = plan.lacks or at in self._lacking.places or at in self._ignoring.places
        lacking = self._lacks(at, plan.asker, plan.lacks) if known_lacks else ()
        if self.mode == "native":
            return _native(lacking)
        if plan.strictly and self._constrains(backend, lacking):
            return Constrained(**self._options(backend, lacking))
        has_tools = known.has_tools and "tools" not in lacking
        choosing = self.mode == "auto" and has_tools
        if choosing and known.own_calls and self._reads_no_text(known, plan.request.model):
            return _native(lacking)
        if choosing or self.mode == "hybrid":
            return self._hybrid(backend, plan, at, lacking)
        options = self._options(backend, lacking)
        if plan.offers_tools and self._constrains(backend, lacking):
            if plan.demands_call or (known.chooses and _may_choose(plan.request)):
                return Constrained(**options)
            if plan.wants_json and "union" not in lacking:
                return Constrained(**options, union=True)
        name, guessed, watch = self._format(backend, plan, self._written(at, plan))
        return Prompted(format=name, guessed=guessed, watch=watch, **options)

    def _hybrid(
        self, backend: Backend, plan: Plan, at: BackendModel, lacking: Sequence[Lack]
    ) -> Hybrid:
        """Return the cached strategy until something new is learned."""
        written = self._written(at, plan) if at in self._formats.places else None
        unproven = not self._calls(at)
        system_role = "system" not in lacking
        now = (backend.capabilities, written, unproven, system_role)
        made = self._hybrids.get((at, plan.asker))
        if made is not None and made[0] == now:
            return made[1]
        name, guessed, watch = self._format(backend, plan, written)
        hybrid = Hybrid(
            format=name, guessed=guessed, watch=watch, unproven=unproven, system_role=system_role
        )
        if len(self._hybrids) >= _MOST_LEARNED:
            self._hybrids.clear()
        self._hybrids[at, plan.asker] = (now, hybrid)
        return hybrid

    def _options(self, backend: Backend, lacking: Sequence[Lack]) -> dict[str, Any]:
        """Return the options of every strategy that writes a prompt."""
        one_call = backend.capabilities.one_call
        options: dict[str, Any] = {"examples": self.examples, "one_call": one_call}
        if "system" in lacking:
            options["system_role"] = False
        return options

    def can_constrain(self, backend: Backend, plan: Plan) -> bool:
        """Whether a turn can be constrained to a JSON Schema of calls."""
        lacking = self._lacks(self._place(backend, plan.request.model), plan.asker, plan.lacks)
        return self.mode != "native" and self._constrains(backend, lacking)

    def _lacks(
        self, at: BackendModel, asker: str, seen: Sequence[tuple[str, Lack]] = ()
    ) -> Sequence[Lack]:
        """Return what this backend lacks, for `asker` or for a turn that has `seen` it."""
        known = (self._lacking.counting(at, asker), self._ignoring.counting(at, asker))
        here = [lack for backend, lack in seen if backend == at[0]]
        return list(dict.fromkeys([*known[0], *known[1], *here]))

    def _constrains(self, backend: Backend, lacking: Sequence[Lack]) -> bool:
        return backend.capabilities.constrains and "constraint" not in lacking

    def _written(self, at: BackendModel, plan: Plan) -> str | None:
        """Return the observed format of the model's calls, if there is one."""
        found = self._formats.counting(at, plan.asker)
        return found[-1] if found else None

    def _format(
        self, backend: Backend, plan: Plan, written: str | None
    ) -> tuple[str, bool, Callable[[Detection | None], None] | None]:
        """Return the expected format, whether it is a guess, and the callback for the actual one.

        A format is certain only if it was both detected and observed; then there is no callback.
        """
        model = plan.request.model
        expected = self.format_of(model, backend.capabilities)
        guessed = expected is _GUESS
        if written == expected.format and not guessed:
            return written, False, None
        name = written if written is not None and self.format is None else expected.format
        settle = partial(self._settle, self._place(backend, model), plan.asker, name)
        return name, guessed and written is None, settle

    def _settle(self, at: BackendModel, asker: str, expected: str, found: Detection | None) -> None:
        written = expected if found is None else found.format
        if found is not None and written not in self._formats.counting(at, asker):
            self.observer.learned(*at, "format", written)
        self._formats.observe(at, written, asker)

    def _place(self, backend: Backend, model: str) -> BackendModel:
        """Return the key under which lessons are stored."""
        return backend.name, self.model or model

    def format_of(self, model: str, known: Capabilities = UNKNOWN) -> Detection:
        """Return the expected format of a model, and why."""
        if self.format is not None:
            return Detection(self.format, "it is configured")
        if known.format:
            return Detection(known.format, "this model does best with it")
        return _detect(known.name, known.template, self.model or model)

    def _reads_no_text(self, known: Capabilities, model: str) -> bool:
        """Whether a call in the text can only be a quotation, as with Claude."""
        return known.own_calls and self.format_of(model, known) is _GUESS

    def mode_of(
        self, backend: Backend, model: str
    ) -> tuple[Literal["native", "hybrid", "prompted"], str]:
        """Return how a model is given tools, as far as is known before a turn, and why."""
        if self.mode != "auto":
            return self.mode, "it is configured"
        if not backend.capabilities.has_tools:
            return "prompted", "the chat template of its model has no place for tools"
        if "tools" in self._lacks(self._place(backend, model), ""):
            return "prompted", "it has refused tools"
        if self._reads_no_text(backend.capabilities, model):
            return "native", "its API has calls of its own"
        return "hybrid", "until the server turns out to have no tools"

    def known(self, model: str, asker: str = "") -> dict[str, str]:
        """Return what counts about this model for the key `asker`, by backend."""
        lacks = {
            backend: self._lacks((backend, name), asker)
            for backend, name in (*self._lacking.places, *self._ignoring.places)
            if name == (self.model or model)
        }
        return {backend: f"without {', '.join(found)}" for backend, found in lacks.items() if found}

    def called(self, backend: Backend, model: str) -> None:
        """Record a native call of this backend. Call this if the strategy is `unproven`."""
        at = self._place(backend, model)
        self._ignoring.forget(at, "tools")
        if len(self._called) >= _MOST_LEARNED and at not in self._called:
            del self._called[next(iter(self._called))]
        self._called[at] = self.clock()

    def learn(
        self,
        backend: Backend,
        model: str,
        lack: Lack,
        *,
        asker: str = "",
        prose: bool = False,
        by_history: bool = False,
    ) -> bool:
        """Record that `asker` saw this backend lack a feature. Return whether that is new and
        changes the strategy of this turn. `prose`: the backend reported nothing, but made no call.
        `by_history`: it refused the roles in this conversation. If it has made native calls, only
        this turn is without.
        """
        at = self._place(backend, model)
        if self.mode == "native" and lack != "system":
            return False
        if self.mode != "auto" and lack == "tools":
            return False
        if (
            lack == "tools"
            and prose
            and (self._reads_no_text(backend.capabilities, model) or self._calls(at))
        ):
            return False
        if lack in self._lacks(at, asker):
            return False
        if lack == "tools":
            if by_history and self._calls(at):
                return True
            self._called.pop(at, None)
        (self._ignoring if prose else self._lacking).observe(at, lack, asker)
        if lack in self._lacks(at, asker):
            self.observer.learned(*at, lack)
        return True

    def _calls(self, at: BackendModel) -> bool:
        """Whether this backend is known to make native calls."""
        last = self._called.get(at)
        return last is not None and self.clock() - last < NATIVE_REMEMBERED
