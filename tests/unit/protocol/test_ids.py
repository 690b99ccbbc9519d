import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwire.protocol.ids import IdForm, provider_ids
from toolwire.protocol.tools import AssistantCall

FORMS: dict[IdForm, str] = {
    "keep": r".+",
    "openai": r".{1,40}",
    "mistral": r"[a-zA-Z0-9]{9}",
    "kimi": r"functions\.[a-zA-Z0-9_-]+:\d+",
}
each_form = pytest.mark.parametrize("form", FORMS)

names = st.sampled_from(["read", "write", "a-b", "x_1"])
call_ids = st.text(alphabet="abYZ09_-.:/ é", min_size=1, max_size=60)
histories = st.lists(
    st.builds(AssistantCall, call_ids, names, st.just("{}")), unique_by=lambda c: c.call_id
)


def made(*call_ids: str, name: str = "f") -> list[AssistantCall]:
    """Calls with these ids."""
    return [AssistantCall(call_id, name, "{}") for call_id in call_ids]


@each_form
@settings(max_examples=40, deadline=None)
@given(calls=histories)
def test_every_id_has_the_form_and_no_two_are_the_same(
    form: IdForm, calls: list[AssistantCall]
) -> None:
    ids = provider_ids(calls, form)
    assert set(ids) == {call.call_id for call in calls}
    assert len(set(ids.values())) == len(calls)
    for provider_id in ids.values():
        assert re.fullmatch(FORMS[form], provider_id, re.DOTALL)


@each_form
@settings(max_examples=40, deadline=None)
@given(calls=histories, more=histories)
def test_a_longer_history_extends_the_ids_of_a_shorter_one(
    form: IdForm, calls: list[AssistantCall], more: list[AssistantCall]
) -> None:
    """Otherwise each turn would throw the backend's prompt cache away."""
    known = {call.call_id for call in calls}
    longer = provider_ids([*calls, *(call for call in more if call.call_id not in known)], form)
    shorter = provider_ids(calls, form)
    assert list(longer.items())[: len(shorter)] == list(shorter.items())


@pytest.mark.parametrize(
    ("form", "call_id", "provider_id"),
    [
        ("keep", "anything at all", "anything at all"),
        ("openai", "call_1", "call_1"),
        ("openai", "x" * 40, "x" * 40),
        ("openai", "x" * 41, "call_ac7b634153c2199cdc61300d306d5ff7"),
        ("mistral", "call_1", "vXHE7pZtM"),
        ("kimi", "call_1", "functions.f:0"),
    ],
)
def test_the_form_depends_on_nothing_but_the_history(
    form: IdForm, call_id: str, provider_id: str
) -> None:
    assert provider_ids(made(call_id), form) == {call_id: provider_id}


def test_kimi_counts_over_the_whole_conversation() -> None:
    calls = [
        AssistantCall("a", "read", ""),
        AssistantCall("b", "write", ""),
        AssistantCall("c", "read", ""),
    ]
    ids = list(provider_ids(calls, "kimi").values())
    assert ids == ["functions.read:0", "functions.write:1", "functions.read:2"]


def test_an_id_that_looks_like_one_of_ours_is_not_taken_for_it() -> None:
    long = "x" * 41
    derived = provider_ids(made(long), "openai")[long]
    ids = provider_ids(made(derived, long), "openai")
    assert ids[derived] == derived
    assert ids[long] != derived


@pytest.mark.parametrize("form", ["keep", "openai"])
def test_a_backend_is_shown_the_id_that_it_gave_once(form: IdForm) -> None:
    calls = [
        AssistantCall("call_a", "f", "{}", provider_id="0"),
        AssistantCall("call_b", "f", "{}"),
    ]
    assert provider_ids(calls, form) == {"call_a": "0", "call_b": "call_b"}
    again = [AssistantCall(call_id, "f", "{}", provider_id="0") for call_id in ("call_a", "call_b")]
    assert len(set(provider_ids(again, form).values())) == 2
