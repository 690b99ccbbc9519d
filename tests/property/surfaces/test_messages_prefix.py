"""Whatever a client of the Messages API puts where, each prompt begins with the one before it.

The conversations here are those that agents send: system messages anywhere, results in any order
and in several messages, with images, documents and references, failed, missing and unasked for.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.messaging import asked

from toolwire.backends.dialects import DIALECTS
from toolwire.backends.openai.request import encode_messages
from toolwire.gateway.plan import RepairPolicy, make_plan
from toolwire.surfaces.messages.thinking import signature

Json = Any
Turn = tuple[list[Json], list[Json]]
"""An answer, and what the user's side says to it."""

TOOLS = [
    {"name": name, "input_schema": {"type": "object"}, "defer_loading": name == "later"}
    for name in ("read", "mcp__" + 80 * "x", "later")
]
TEXT = st.sampled_from(["Go on.", "\u00fc\n", "<tool_call>"]).map(
    lambda said: {"type": "text", "text": said, "cache_control": {"type": "ephemeral"}}
)
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}
PDF = {
    "type": "document",
    "title": "plan.pdf",
    "context": "Old.",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"},
}
AGAIN = {"type": "text", "text": "Again."}
REFERENCE = {"type": "tool_reference", "tool_name": "later"}
SHOWN = st.one_of(TEXT, st.sampled_from([IMAGE, PDF, {"type": "new", "text": "?"}]))
OUTPUT = st.one_of(
    st.sampled_from(["done", "", None, [REFERENCE]]),
    st.lists(SHOWN, max_size=2),
)
SYSTEM = st.one_of(st.just("You have 900 tokens left."), st.lists(TEXT, min_size=1, max_size=1))
THOUGHT = st.sampled_from([signature("Hm."), "theirs", "tw1.wrong", ""]).map(
    lambda signed: {"type": "thinking", "thinking": "Hm.", "signature": signed}
)


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    """An answer with some calls, and their results among other things."""
    ids = draw(st.lists(st.sampled_from([f"toolu_{n}" for n in range(9)]), max_size=3, unique=True))
    names = [draw(st.sampled_from([tool["name"] for tool in TOOLS])) for _ in ids]
    calls = [
        {"type": "tool_use", "id": call_id, "name": name, "input": {"b": 1.0, "a": "\u00fc"}}
        for call_id, name in zip(ids, names, strict=True)
    ]
    blocks = draw(st.lists(st.one_of(THOUGHT, TEXT), max_size=2)) + calls
    said = [
        {"type": "tool_result", "tool_use_id": call_id, "content": draw(OUTPUT), "is_error": failed}
        for call_id in [*ids, *draw(st.sampled_from([[], ["toolu_lost"]]))]
        if (failed := draw(st.booleans())) or draw(st.booleans())
    ]
    said = draw(st.permutations([*said, *draw(st.lists(SHOWN, max_size=2))])) or [AGAIN]
    cut = draw(st.integers(0, len(said)))
    messages: list[Json] = [{"role": "user", "content": part} for part in (said[:cut], said[cut:])]
    for system in draw(st.lists(SYSTEM, max_size=2)):
        messages.insert(draw(st.integers(1, 2)), {"role": "system", "content": system})
    return blocks, [message for message in messages if message["content"]]


@pytest.mark.parametrize("dialect", ["openai", "vllm", "mistral"])
@given(begins=turns(), goes_on=st.lists(turns(), min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_each_prompt_begins_with_the_one_before(
    dialect: str, begins: Turn, goes_on: list[Turn]
) -> None:
    messages, (before, tools) = begins[1], sent(begins[1], dialect)
    for blocks, said in goes_on:
        messages = [*messages, {"role": "assistant", "content": blocks}, *said]
        now, offered = sent(messages, dialect)
        assert now.startswith(before.removesuffix(b"]") + b",")
        assert offered[: len(tools)] == tools
        before, tools = now, offered


def sent(messages: list[Json], dialect: str) -> tuple[bytes, list[str]]:
    """The messages that a backend is sent, and the names of the tools, in their order. A model that
    repeats itself is not warned: the warning would be the last message, and gone in the next."""
    request = asked(messages=messages, tools=TOOLS, system="Be brief.").request
    policy = RepairPolicy(loop_after=0)
    outgoing = make_plan(request, repair_history=True, repair_policy=policy).outgoing
    return encode_messages(outgoing.messages, DIALECTS[dialect]), list(outgoing.tools.tools)
