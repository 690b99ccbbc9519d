"""The rules of history: what keeps them is kept, and what breaks them is refused or mended."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from toolwire.errors import RequestError
from toolwire.gateway.history import NO_RESULT, History, _Checker, check_history
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall

Check = Callable[[Sequence[ChatMessage], bool], History]


def made(*call_ids: str) -> ChatMessage:
    return ChatMessage(
        "assistant", None, tuple(AssistantCall(call_id, "f", "{}") for call_id in call_ids)
    )


def result(call_id: str) -> ChatMessage:
    return ChatMessage("tool", f"result of {call_id}", call_id=call_id)


@st.composite
def conversations(draw: st.DrawFn) -> list[ChatMessage]:
    """Conversations that keep the rules; results come in any order."""
    messages: list[ChatMessage] = []
    number = 0
    for _ in range(draw(st.integers(0, 5))):
        width = draw(st.integers(0, 4))
        ids = [f"call_{number + at}" for at in range(width)]
        number += width
        spoken = ChatMessage(draw(st.sampled_from(["user", "system", "assistant"])), "x")
        messages += [made(*ids), *map(result, draw(st.permutations(ids)))] if ids else [spoken]
    return messages


few_ids = st.sampled_from(["a", "b", "c"])
anything = st.lists(
    st.just(ChatMessage("user", "x"))
    | st.lists(few_ids, min_size=1, max_size=3).map(lambda ids: made(*ids))
    | few_ids.map(result),
    max_size=8,
)


def ours(messages: Sequence[ChatMessage], repair: bool) -> History:
    return check_history(messages, repair=repair)


def keeps_what_is_right(check: Check, messages: list[ChatMessage]) -> bool:
    """Law: nothing is lost or changed, and results come out in the order of their calls."""
    try:
        history = check(messages, False)
    except RequestError:
        return False
    out = history.messages
    spoken = [message for message in messages if message.role != "tool"]
    wanted = [call.call_id for message in out for call in message.calls]
    return (
        history.repairs == []
        and [message for message in out if message.role != "tool"] == spoken
        and Counter(map(repr, out)) == Counter(map(repr, messages))
        and [message.call_id for message in out if message.role == "tool"] == wanted
        and check(out, False).messages == out
    )


def mends_what_is_wrong(check: Check, messages: list[ChatMessage]) -> bool:
    """Law: a repaired history keeps the rules and every call, makes up nothing but missing results,
    says so, and is made exactly where the history would have been refused."""
    history = check(messages, True)
    made_up = [message for message in history.messages if message.content == NO_RESULT]
    missing = [repair for repair in history.repairs if repair.startswith("missing_result")]
    known = {message.content for message in messages if message.role == "tool"}
    kept = [m for m in history.messages if m.role == "tool" and m not in made_up]
    return (
        _accepted(history.messages)
        and len(history.calls) == sum(len(message.calls) for message in messages)
        and len(made_up) == len(missing)
        and all(message.content in known for message in kept)
        and (history.repairs == []) == _accepted(messages)
    )


def _accepted(messages: Sequence[ChatMessage]) -> bool:
    try:
        check_history(messages)
    except RequestError:
        return False
    return True


@settings(max_examples=150, deadline=None)
@given(conversations())
def test_a_conversation_that_keeps_the_rules_is_kept(messages: list[ChatMessage]) -> None:
    assert keeps_what_is_right(ours, messages)


@settings(max_examples=200, deadline=None)
@given(anything)
def test_any_conversation_can_be_mended(messages: list[ChatMessage]) -> None:
    assert mends_what_is_wrong(ours, messages)


class ArrivalOrder(_Checker):
    """Results stay in the order in which they came."""

    def _result(self, message: ChatMessage, position: int) -> None:
        self.open.pop(message.call_id, None)
        self.open[message.call_id] = message


class ForgetsTheEnd(_Checker):
    """Calls of the last message need no results."""

    def run(self, first: int) -> History:
        if self.messages:
            self.messages = [*self.messages, ChatMessage("user", "x")]
        return super().run(first)


class TakesAnyResult(_Checker):
    """A result needs no call."""

    def _result(self, message: ChatMessage, position: int) -> None:
        if message.call_id in self.open:
            super()._result(message, position)
        else:
            self.history.messages.append(message)


class LosesRepeatedCalls(_Checker):
    """A call with the id of another is left out."""

    def _calls(self, message: ChatMessage, position: int) -> ChatMessage:
        calls = tuple(call for call in message.calls if call.call_id not in self.seen)
        return super()._calls(replace(message, calls=calls), position)


class MendsInSilence(_Checker):
    """What was mended is not said."""

    def run(self, first: int) -> History:
        history = super().run(first)
        history.repairs.clear()
        return history


def with_(mutant: type[_Checker]) -> Check:
    return lambda messages, repair: mutant(repair, messages, History()).run(0)


QUICKLY = settings(max_examples=2_000, phases=[Phase.generate], deadline=None, database=None)


@pytest.mark.parametrize("mutant", [ArrivalOrder, ForgetsTheEnd])
def test_the_first_law_catches(mutant: type[_Checker]) -> None:
    check = with_(mutant)
    found = find(conversations(), lambda m: not keeps_what_is_right(check, m), settings=QUICKLY)
    assert keeps_what_is_right(ours, found)


@pytest.mark.parametrize("mutant", [TakesAnyResult, LosesRepeatedCalls, MendsInSilence])
def test_the_second_law_catches(mutant: type[_Checker]) -> None:
    check = with_(mutant)
    found = find(anything, lambda m: not mends_what_is_wrong(check, m), settings=QUICKLY)
    assert mends_what_is_wrong(ours, found)
