"""Toolwire in front of Toolwire: the outer one reaches the inner one by its Responses API.

Whatever a model says arrives at a client of the outer one as at a client of the inner one.
"""

import json
from dataclasses import dataclass, field
from functools import cache

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from tests.contract.chatting import Backend, Client, Recitation
from tests.property.surfaces.doors import DOORS, Call, Said
from tests.property.surfaces.house import OPEN_DOORS, House
from tests.property.surfaces.test_same_turn import CASES, OWN_CALLS, REASONING, TOOLS, cut, said_by

from toolwire.backends.base import BackendRequest, Capabilities
from toolwire.backends.dialects import DIALECTS
from toolwire.backends.responses.answer import ResponsesDecoder
from toolwire.backends.responses.request import WIRE, encode_request
from toolwire.conformance.case import TestCase
from toolwire.gateway.strategies.selection import Mode, StrategySelector
from toolwire.protocol.fragments import ENCRYPTED_REASONING, Fragment
from toolwire.surfaces.exchange import HttpRequest

READ = 61
"""Bytes of each read: no event begins or ends with one."""
EVERY = 10
"""Of so many cases one is tried through all surfaces; `given` finds the others."""


@dataclass
class InnerToolwire(Backend):
    """A backend that is an application of its own, with a model that says `blocks`."""

    inner: House = field(default_factory=lambda: House("native"))
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(wire=WIRE))

    async def open(self, outgoing: BackendRequest) -> Recitation:
        self.opened.append(outgoing)
        model = self.inner.model
        fresh = StrategySelector(self.inner.mode, self.inner.format)
        structs.force_setattr(model, "strategies", fresh)
        self.inner.backend.blocks = self.blocks
        self.inner.backend.opened.clear()
        body = b"".join(encode_request(outgoing, DIALECTS["responses"], None))
        head = {b"content-type": b"application/json"}
        client = Client(HttpRequest("POST", b"/v1/responses", head, body))
        await self.inner.app(client)
        assert client.status == 200, client.written
        decoder = ResponsesDecoder(max_line=1 << 20)
        written = client.written
        reads = [written[at : at + READ] for at in range(0, len(written), READ)]
        fragments = [decoder.feed(block) for block in reads] + [decoder.finish()]
        return Recitation([block for block in fragments if block], decoder.done, None)


@cache
def chained(mode: Mode, format_name: str | None) -> tuple[House, House]:
    """The inner application, and one in front of it."""
    inner = House(mode, format_name)
    return inner, House("native", backend=InnerToolwire(inner=inner))


@pytest.mark.parametrize("name", OPEN_DOORS)
@given(case=st.sampled_from(CASES), places=st.lists(st.integers(0, 10_000), max_size=8))
@settings(max_examples=40, deadline=None)
def test_a_text_with_calls_says_the_same_through_both(
    name: str, case: TestCase, places: list[int]
) -> None:
    inner, outer = chained("prompted", case.parser_name)
    said = cut(case.model_output, places)
    for stream in (False, True):
        direct = said_by(inner, name, said, case, stream)
        assert said_by(outer, name, said, case, stream) == direct, (case.name, stream)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", OPEN_DOORS)
def test_the_cases_of_every_format_say_the_same_through_both(name: str, *, stream: bool) -> None:
    for number, case in enumerate(CASES):
        if number % EVERY == 0:
            inner, outer = chained("hybrid", case.parser_name)
            said = cut(case.model_output, [])
            direct = said_by(inner, name, said, case, stream)
            assert said_by(outer, name, said, case, stream) == direct, case.name


TURN = [
    REASONING,
    Fragment(reasoning="the rest. ü"),
    Fragment(text="Let me see."),
    *(Fragment(calls=(call,)) for call in OWN_CALLS),
    Fragment(finish="tool_calls"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", OPEN_DOORS)
def test_a_task_of_two_turns_is_done_through_both(name: str, *, stream: bool) -> None:
    inner, outer = chained("native", None)
    door = DOORS[name]
    history = [door.user("Hello")]
    direct = inner.ask(door, TURN, TOOLS, history, stream=stream)
    first = outer.ask(door, TURN, TOOLS, history, stream=stream)
    assert first.said == direct.said
    assert first.said.reasoning == "First, the time.\nThen the rest. ü"
    results: list[tuple[Call, str]] = [(call, f"result {call.name}") for call in first.calls]
    history += [*first.echo, *door.results(results)]
    last = outer.ask(door, [Fragment(text="Done.")], TOOLS, history, stream=stream)
    assert last.said == Said("Done.", "", ())
    reached = inner.outgoing.messages
    assert [message.role for message in reached] == [
        "system", "user", "assistant", "tool", "tool", "tool",
    ]  # fmt: skip
    assert [call.name for call in reached[2].calls] == [call.name for call in first.calls]
    assert [message.call_id for message in reached[3:]] == [c.call_id for c in reached[2].calls]
    assert [m.content for m in reached[3:]] == [text for _, text in results]


@pytest.mark.parametrize("stream", [False, True])
def test_encrypted_reasoning_makes_the_round(*, stream: bool) -> None:
    outer = House("native", backend=Backend(capabilities=Capabilities(wire=WIRE)))
    door = DOORS["responses"]
    sealed = Fragment(extras=((ENCRYPTED_REASONING, b'"gAAA"'),))
    said = [Fragment(reasoning="Hm."), sealed, *TURN[2:]]
    first = outer.ask(door, said, TOOLS, [door.user("Hello")], stream=stream)
    assert [item["type"] for item in first.echo][:2] == ["reasoning", "message"]
    assert first.echo[0]["encrypted_content"] == "gAAA"
    results = door.results([(call, "x") for call in first.calls])
    history = [door.user("Hello"), *first.echo, *results]
    outer.ask(door, [Fragment(text="Done.")], TOOLS, history, stream=stream)
    body = b"".join(encode_request(outer.outgoing, DIALECTS["responses"], None))
    sent = json.loads(body)
    assert sent["include"] == ["reasoning.encrypted_content"]
    assert sent["input"][1] == {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}


def test_encrypted_reasoning_without_a_summary_is_an_item_of_its_own() -> None:
    outer = House("native", backend=Backend(capabilities=Capabilities(wire=WIRE)))
    door = DOORS["responses"]
    extras = tuple((ENCRYPTED_REASONING, msgspec.json.encode(blob)) for blob in ("g1", "g2"))
    said = [Fragment(extras=extras[:1]), Fragment(extras=extras[1:]), Fragment(text="Done.")]
    answer = outer.ask(door, said, TOOLS, [door.user("Hello")], stream=True)
    assert [item.get("encrypted_content") for item in answer.echo] == ["g1", "g2", None]
    assert [item["summary"] for item in answer.echo[:2]] == [[], []]
