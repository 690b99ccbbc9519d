"""The fast path through the stages of a choice says what the stages say, one after the other."""

import itertools
from functools import partial
from typing import Any

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.contract.wire import body, read, tool
from tests.property.test_native import TOOLS, Turn, turns

from toolwire.errors import UpstreamError
from toolwire.formats import parser_for
from toolwire.gateway.answer.choice import ChoicePipeline, FastPath, Reading
from toolwire.gateway.answer.native import NativeReader
from toolwire.gateway.answer.text_calls import TextCallReader
from toolwire.gateway.plan import Plan
from toolwire.gateway.repair.costly import Allowance
from toolwire.protocol.events import Event
from toolwire.protocol.fragments import CallFragment, Fragment

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
CALL = '<tool_call>{"name": "read", "arguments": {"a": 1}}</tool_call>'
BESIDE = [
    Fragment(text="hm "), Fragment(reasoning="so"), Fragment(gap=True), Fragment(text=CALL),
    Fragment(extras=(("refusal", b'"no"'),)), Fragment(text=CALL[:20]),
]  # fmt: skip


def plan_for(**fields: Any) -> Plan:
    return read(body(tools=[tool(name, SCHEMA) for name in TOOLS], **fields))


def delivered(plan: Plan, *, live: bool) -> Plan:
    return replace(plan, request=replace(plan.request, shows_calls=live))


PLANS = [
    delivered(plan_for(stream=True, parallel_tool_calls=parallel, tool_choice=choice), live=live)
    for live in (True, False)
    for parallel in (True, False)
    for choice in ("auto", "required", "none")
]
streams = st.tuples(
    turns,
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from(BESIDE)), max_size=2),
    st.sampled_from(PLANS),
    st.booleans(),
)


class Slow(ChoicePipeline):
    """No fast path."""

    def _fast_path(self) -> FastPath | None:
        return None


def choice_of(kind: type[ChoicePipeline], plan: Plan, *, reads_text: bool) -> ChoicePipeline:
    numbers = itertools.count()

    def new_id() -> str:
        return f"call_{next(numbers)}"

    native = NativeReader(TOOLS, new_id)
    reading: Reading = native
    if reads_text:
        tools = plan.outgoing.tools.tools.values()
        reading = TextCallReader(native, partial(parser_for, "hermes", tools), new_id)
    validator = plan.validator(Allowance(), final=True, resumed=False)
    return kind(reading, plan.policy(final=True), validator)


def told(kind: type[ChoicePipeline], stream: tuple[Turn, Any, Plan, bool]) -> list[Any]:
    """Everything that can be seen of a choice, fragment by fragment."""
    turn, beside, plan, reads_text = stream
    fragments = turn.fragments()
    for at, fragment in beside:
        fragments.insert(min(at, len(fragments) - 1), fragment)
    choice = choice_of(kind, plan, reads_text=reads_text)
    seen: list[list[Event] | str] = []
    try:
        seen += [choice.feed(fragment) for fragment in fragments]
        seen.append(choice.finish(done=True))
    except UpstreamError as error:
        seen.append(error.message)
    return [
        seen,
        choice.repairs,
        choice.validator and choice.validator.findings,
        choice.policy.calls,
    ]


@settings(max_examples=300, deadline=None)
@given(streams)
def test_the_fast_path_says_what_the_stages_say(stream: tuple[Turn, Any, Plan, bool]) -> None:
    assert told(ChoicePipeline, stream) == told(Slow, stream)


class Forgets(ChoicePipeline):
    """What passes is not kept for the check."""

    def _fast_path(self) -> FastPath | None:
        fast = super()._fast_path()
        return fast and FastPath(fast.reader, fast.index, [], fast.live)


class AlwaysSends(ChoicePipeline):
    """What must wait for the check goes out at once."""

    def _fast_path(self) -> FastPath | None:
        fast = super()._fast_path()
        return fast and FastPath(fast.reader, fast.index, fast.kept, live=True)


class Stays(ChoicePipeline):
    """Whatever came in between, the path is open."""

    def feed(self, fragment: Fragment) -> list[Event]:
        fast = self._fast
        events = super().feed(fragment)
        self._fast = self._fast or fast
        return events


class Renumbers(ChoicePipeline):
    """A call goes out under the backend's number."""

    def _fast_path(self) -> FastPath | None:
        fast = super()._fast_path()
        return fast and FastPath(fast.reader, fast.reader.in_turn + 1, fast.kept, fast.live)


@pytest.mark.parametrize("mutant", [Forgets, AlwaysSends, Stays, Renumbers])
def test_the_law_catches(mutant: type[ChoicePipeline]) -> None:
    quickly = settings(max_examples=3_000, phases=[Phase.generate], deadline=None, database=None)
    found = find(streams, lambda s: told(mutant, s) != told(Slow, s), settings=quickly)
    assert told(ChoicePipeline, found) == told(Slow, found)


def test_more_of_a_calls_arguments_takes_the_fast_path() -> None:
    turn = choice_of(ChoicePipeline, PLANS[0], reads_text=True)
    for piece in ('{"a', '":', "1"):
        turn.feed(_arguments(piece, name="read" if piece[0] == "{" else None))
    assert turn._fast is not None
    turn.feed(Fragment(text="hm"))
    assert turn._fast is None


def _arguments(text: str, name: str | None) -> Fragment:
    return Fragment(calls=(CallFragment(0, name and "x", name, text),))
