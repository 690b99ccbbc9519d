"""Asking again that fails: an answer that does not fit is still better than an error."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec import structs
from tests.contract.chatting import Backend, Client, Recitation, chat
from tests.contract.wire import body, read, tool
from tests.schemas import fan

from toolwire.backends.base import BackendRequest, Capabilities
from toolwire.errors import InvalidToolArguments, UpstreamRefused
from toolwire.gateway.answer.attempt import Attempt
from toolwire.gateway.answer.native import NativeReader
from toolwire.gateway.answer.text_calls import TextCallReader
from toolwire.gateway.strategies.native import NATIVE
from toolwire.gateway.strategies.selection import StrategySelector
from toolwire.gateway.trace.records import AttemptTrace
from toolwire.protocol.events import Event, TextDelta
from toolwire.protocol.fragments import CallFragment, Fragment

SCHEMA = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
REFUSAL = UpstreamRefused("No.", status=400)


@dataclass
class OnceOnly(Backend):
    """Answers the first time, and refuses from then on; `late` breaks off instead."""

    late: Sequence[Fragment] = ()

    async def open(self, outgoing: BackendRequest) -> Recitation:
        self.opened.append(outgoing)
        if len(self.opened) == 1:
            return Recitation(self.blocks, done=True, error=None)
        if self.late:
            return Recitation([self.late], done=False, error=REFUSAL)
        raise REFUSAL


def ask(
    arguments: str,
    *,
    stream: bool = False,
    strict: bool = False,
    late: Sequence[Fragment] = (),
    text: str = "Hm.",
) -> tuple[Client, Backend]:
    """Ask a model that says something and makes this call. One more tool is always strict, so
    that calls are delivered whole."""
    call = Fragment(text=text, calls=(CallFragment(0, "a", "f", arguments),))
    backend = OnceOnly([[call], [Fragment(finish="tool_calls")]], late=late)
    tools = [tool("f", SCHEMA, strict=strict), tool("g", SCHEMA, strict=True)]
    return chat(body(tools=tools, stream=stream), backend), backend


def message(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.json["choices"][0]["message"]
    return found


@pytest.mark.parametrize("late", [(), (Fragment(text="half an answer"),)])
def test_the_first_answer_is_delivered_whole_if_the_second_fails(late: Sequence[Fragment]) -> None:
    client, backend = ask('{"x": "a"}', late=late)
    assert len(backend.opened) == 2
    assert client.status == 200
    assert message(client)["content"] == "Hm."
    assert message(client)["tool_calls"][0]["function"]["arguments"] == '{"x": "a"}'
    assert client.headers["toolwire-findings"] == "invalid_tool_arguments:f"


def test_a_stream_that_has_the_text_gets_the_call_if_the_second_answer_fails() -> None:
    client, _ = ask('{"x": "a"}', stream=True)
    deltas = [chunk["choices"][0]["delta"] for chunk in client.chunks]
    assert [delta["content"] for delta in deltas if delta.get("content")] == ["Hm."]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    assert "".join(call["function"]["arguments"] for call in calls) == '{"x": "a"}'


def test_two_answers_are_never_mixed() -> None:
    client, _ = ask('{"x": "a"}', stream=True, text="", late=[Fragment(text="half")])
    assert b'"half"' in client.written
    assert b"tool_calls" not in client.written
    assert client.events[-1]["error"]["message"].endswith(" answer: No.")


def test_what_is_sent_again_is_once_in_the_trace() -> None:
    plan = read(body(tools=[tool("f", SCHEMA)]))
    trace = AttemptTrace("b", NATIVE, 0.0, final=False, resumed=False)
    attempt = Attempt(plan, NATIVE, lambda *_: None, lambda: "call_1", final=False, trace=trace)
    attempt.feed([Fragment(text="Hm.", calls=(CallFragment(0, "a", "f", "{}"),), finish="stop")])
    with pytest.raises(InvalidToolArguments):
        attempt.finish(done=True)
    attempt.deliver(again=True)
    assert trace.outcome()[0].content == "Hm."
    assert [call.arguments for call in trace.outcome()[0].calls] == ["{}"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_strict_call_is_not_delivered_even_then(stream: bool) -> None:
    client, backend = ask('{"x": "a"}', strict=True, stream=stream)
    assert len(backend.opened) == 2
    assert b"tool_calls" not in client.written
    assert b'No."' in client.written


@pytest.mark.parametrize("stream", [True, False])
def test_prose_that_is_cut_off_beside_a_choice_with_the_call_is_delivered(stream: bool) -> None:
    call = Fragment(calls=(CallFragment(0, "a", "f", '{"x": 1}'),), finish="tool_calls")
    prose = Fragment(choice=1, text="Well, " * 200, finish="length")
    backend = Backend([[call], [prose]])
    tools = [tool("f", SCHEMA)]
    client = chat(body(tools=tools, tool_choice="required", stream=stream, n=2), backend)
    assert len(backend.opened) == 1
    chunks = client.chunks if stream else [client.json]
    ends = {c["index"]: c["finish_reason"] for chunk in chunks for c in chunk["choices"]}
    assert ends == {0: "tool_calls", 1: "length"}


@pytest.mark.parametrize("speaker", [0, 1])
@pytest.mark.parametrize("stream", [True, False])
def test_the_choice_that_made_the_required_call_is_delivered_without_the_one_in_prose(
    stream: bool, speaker: int
) -> None:
    call = CallFragment(0, "a", "f", '{"x": 1}')
    prose = Fragment(choice=speaker, text="No.", finish="stop")
    backend = Backend([[prose], [Fragment(choice=1 - speaker, calls=(call,), finish="stop")]])
    tools = [tool("f", SCHEMA)]
    client = chat(body(tools=tools, tool_choice="required", stream=stream, n=2), backend)
    chunks = client.chunks if stream else [client.json]
    ends = {c["index"]: c["finish_reason"] for chunk in chunks for c in chunk["choices"]}
    assert ends == {1 - speaker: "tool_calls"}
    assert b"No." not in client.written
    assert "choice_dropped:tool_choice" in str([client.headers, chunks])


REQUIRED = {"tools": [tool("f", SCHEMA)], "tool_choice": "required"}
PROSE = [[Fragment(text="No.")], [Fragment(finish="stop")]]


@pytest.mark.parametrize("asks", [0, 1, 2])
@pytest.mark.parametrize("constrains", [False, True])
@pytest.mark.parametrize("stream", [False, True])
def test_every_request_to_the_model_counts_also_where_the_way_changes(
    stream: bool, constrains: bool, asks: int
) -> None:
    backend = Backend(PROSE, capabilities=Capabilities(constrains=constrains))
    client = chat(body(**REQUIRED, stream=stream), backend, mode="auto", asks=asks)
    assert (client.status, len(backend.opened)) == (502, asks + 1)


def test_a_refusal_of_tools_is_no_answer_of_the_model() -> None:
    refusal = UpstreamRefused("This model does not support tools.", status=400)
    backend = Backend(refusal=refusal)
    chat(body(**REQUIRED), backend, mode="auto", asks=0)
    assert [bool(outgoing.tools.tools) for outgoing in backend.opened] == [True, False]


@dataclass
class Constraining(Backend):
    """Makes a call that does not fit, unless it is held to a schema."""

    async def open(self, outgoing: BackendRequest) -> Recitation:
        self.opened.append(outgoing)
        if outgoing.constraint is not None:
            text = '{"tool_calls":[{"name":"f","arguments":{"x":1}}]}'
            return Recitation([[Fragment(text=text)], [Fragment(finish="stop")]], True, None)
        call = CallFragment(0, "a", "f", '{"x": "one"}')
        return Recitation([[Fragment(calls=(call,))], [Fragment(finish="stop")]], True, None)


@pytest.mark.parametrize("mode", ["auto", "hybrid"])
def test_a_strict_call_that_does_not_fit_is_constrained_where_the_backend_can(mode: Any) -> None:
    backend = Constraining(capabilities=Capabilities(constrains=True))
    client = chat(body(tools=[tool("f", SCHEMA, strict=True)]), backend, mode=mode)
    (made,) = message(client)["tool_calls"]
    assert made["function"]["arguments"] == '{"x":1}'
    assert [outgoing.constraint is None for outgoing in backend.opened] == [True, False]


def test_a_strict_call_is_only_checked_where_the_backend_cannot_constrain() -> None:
    backend = Constraining()
    client = chat(body(tools=[tool("f", SCHEMA, strict=True)]), backend, mode="auto")
    assert client.status == 502
    assert [outgoing.request.choice.mode for outgoing in backend.opened] == ["auto", "auto"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_call_that_is_checked_elsewhere_is_delivered_whole_in_a_stream_too(stream: bool) -> None:
    schema = {"type": "object", **fan("anyOf", 14)}
    call = CallFragment(0, "a", "f", '{"p": "x"}')
    backend = Backend([[Fragment(calls=(call,))], [Fragment(finish="tool_calls")]])
    client = chat(body(tools=[tool("f", schema)], stream=stream), backend)
    assert client.status == 200
    assert b'{\\"p\\": \\"x\\"}' in client.written


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("f", '{"x": "a"}', "invalid_tool_arguments"),
        ("f", "[1", "malformed_tool_arguments"),
        ("g", "{}", "unknown_tool_call"),
    ],
)
def test_an_exact_turn_delivers_no_call_that_does_not_fit_and_says_what_the_model_said(
    name: str, arguments: str, code: str
) -> None:
    plan = read(body(tools=[tool("f", SCHEMA)]))
    plan = structs.replace(plan, request=structs.replace(plan.request, exact_calls=True))
    sent: list[Event] = []
    attempt = Attempt(plan, NATIVE, lambda _, events: sent.extend(events), lambda: "call_1")
    calls = (CallFragment(0, "a", "f", '{"x": 1}'), CallFragment(1, "b", name, arguments))
    attempt.feed([Fragment(text="Hm.", calls=calls, finish="tool_calls")])
    with pytest.raises(InvalidToolArguments) as raised:
        attempt.finish(done=True)
    assert raised.value.code == code
    assert raised.value.said == "Hm."
    assert raised.value.calls == (("f", '{"x": 1}'), (name, arguments))
    assert [(index, found) for index, found, _ in raised.value.faults] == [(1, code)]
    assert not attempt.deliverable
    assert sent == [TextDelta("Hm.")]


def test_an_exact_call_that_was_cut_off_is_not_asked_for_again() -> None:
    plan = read(body(tools=[tool("f", SCHEMA)]))
    plan = structs.replace(plan, request=structs.replace(plan.request, exact_calls=True))
    attempt = Attempt(plan, NATIVE, lambda *_: None, lambda: "call_1", final=False)
    cut = CallFragment(0, "a", "f", '{"x": ')
    attempt.feed([Fragment(calls=(cut,), finish="length")])
    with pytest.raises(InvalidToolArguments) as raised:
        attempt.finish(done=True)
    assert raised.value.cut_off


def opened(*said: Fragment) -> tuple[Attempt, list[Event]]:
    """An attempt of an unknown model, without tools, that has begun so."""
    sent: list[Event] = []
    strategy = StrategySelector("auto").choose(Backend(), plan := read(body()))
    attempt = Attempt(plan, strategy, lambda _, events: sent.extend(events), lambda: "call_1")
    for fragment in said:
        attempt.feed([fragment])
    return attempt, sent


def logprobs(token: str) -> bytes:
    return f'{{"content":[{{"token":"{token}"}}]}}'.encode()


def test_behind_the_beginning_of_plain_text_nothing_reads_it() -> None:
    first = Fragment(text="<|chan", logprobs=logprobs("a"))
    attempt, sent = opened(first, Fragment(text="ce", logprobs=logprobs("b")), Fragment(text="."))
    assert type(attempt._choices[0].reading) is NativeReader
    joined = b'{"content":[{"token":"a"},{"token":"b"}]}'
    assert sent == [TextDelta("<|chance", joined), TextDelta(".")]


def test_text_in_a_format_that_it_announces_is_read_to_its_end() -> None:
    attempt, sent = opened(
        Fragment(text="<|channel|>final<|mess"), Fragment(text="age|>Hi.<|end|>")
    )
    assert type(attempt._choices[0].reading) is TextCallReader
    attempt.feed([Fragment(finish="stop")])
    attempt.finish(done=True)
    assert [event for event in sent if isinstance(event, TextDelta)] == [TextDelta("Hi.")]
    assert attempt.repairs == {"format_detected:openai"}
