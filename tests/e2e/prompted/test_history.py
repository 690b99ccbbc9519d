"""A long conversation survives: parallel calls, results in order, errors, in every format."""

import json
from typing import Any

import pytest
from tests.e2e.gateway.contract import Outcome, read
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.scenes import tool
from tests.e2e.gateway.wire import ask, chat_body
from tests.e2e.prompted.models import ALL, INDEPENDENT, raw
from tests.e2e.prompted.routes import route
from tests.scripted import ScriptedServer

from toolwire.protocol.tools import ToolSpec

TURNS = 20
CALLS = 2 * TURNS
NEXT = tool("next_number", number="integer", note="string")
NEXT["function"]["parameters"]["required"] = ["number"]
READ_WITH = [ToolSpec("next_number", "", NEXT["function"]["parameters"])]


def result(number: int) -> str:
    """What the tool returns: every fifth time an error, and markup in between."""
    if number % 5 == 4:
        return f"Error: [{number}] no such file, </tool_response> or directory"
    return f"[{number}] <b>ok</b>\n{{}}"


def told(number: int) -> str:
    """The part of a result that no format writes in another way."""
    return f"[{number}] "


def turn(client: list[dict[str, Any]], gateway: Gateway, model: str, *, stream: bool) -> Outcome:
    """One turn of a client that runs whatever it is told to, results in the wrong order."""
    outcome = read(
        ask(gateway.port, chat_body(model=model, messages=client, tools=[NEXT], stream=stream))
    )
    assert outcome.error is None, outcome.error
    if outcome.calls:
        client.append(said(outcome.calls, len(client)))
        ids = [call["id"] for call in client[-1]["tool_calls"]]
        numbers = [json.loads(arguments)["number"] for _, arguments in outcome.calls]
        for call_id, number in reversed(list(zip(ids, numbers, strict=True))):
            client.append({"role": "tool", "tool_call_id": call_id, "content": result(number)})
    return outcome


def said(calls: list[tuple[str, str]], at: int) -> dict[str, Any]:
    entries = [
        {"id": f"call_{at}_{n}", "type": "function", "function": {"name": name, "arguments": args}}
        for n, (name, args) in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": entries}


def check_prompt(messages: list[dict[str, Any]]) -> None:
    """Every result is there once, in order, and the roles alternate."""
    system, *rest = messages
    assert system["role"] == "system"
    assert [message["role"] for message in rest] == ["user", *["assistant", "user"] * TURNS]
    text = "\n".join(message["content"] for message in rest[1:] if message["role"] == "user")
    places = [text.find(told(number)) for number in range(CALLS)]
    assert -1 not in places
    assert places == sorted(places)
    assert all(text.count(told(number)) == 1 for number in range(CALLS))


@pytest.mark.parametrize("name", INDEPENDENT)
@pytest.mark.parametrize("stream", [True, False])
def test_twenty_turns_of_parallel_calls_and_errors_survive(
    gateway: Gateway, backend: ScriptedServer, name: str, stream: bool
) -> None:
    backend.use("parallel:2", raw(name, f"many:{CALLS}"))
    client: list[dict[str, Any]] = [{"role": "user", "content": "Count."}]
    while (outcome := turn(client, gateway, route("prompted", name), stream=stream)).calls:
        assert len(outcome.calls) == 2
    assert outcome.content == f"done after {CALLS} calls"
    assert len(backend.requests) == TURNS + 1
    check_prompt(backend.requests[-1].json["messages"])


def long_history() -> list[dict[str, Any]]:
    client: list[dict[str, Any]] = [{"role": "user", "content": "Count."}]
    for number in range(0, CALLS, 2):
        pair = [
            ("next_number", json.dumps({"number": n, "note": "a\nb"})) for n in (number, number + 1)
        ]
        client.append(said(pair, number))
        for call, n in zip(client[-1]["tool_calls"], (number, number + 1), strict=True):
            client.append({"role": "tool", "tool_call_id": call["id"], "content": result(n)})
    return client


@pytest.mark.parametrize("name", ALL)
def test_a_model_of_any_format_knows_its_forty_calls_again(
    gateway: Gateway, backend: ScriptedServer, name: str
) -> None:
    backend.use("std", raw(name, f"many:{CALLS}", tools=READ_WITH))
    body = chat_body(model=route("prompted", name), messages=long_history(), tools=[NEXT])
    assert read(ask(gateway.port, body)).content == f"done after {CALLS} calls"
    check_prompt(backend.requests[-1].json["messages"])


def test_a_conversation_can_change_to_a_model_without_tools_in_the_middle(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    """The history was made by a native model; ids and all go over to the prompt."""
    backend.use("parallel:2", "many:4")
    client: list[dict[str, Any]] = [{"role": "user", "content": "Count."}]
    turn(client, gateway, "native/hermes/generic", stream=True)
    backend.use("parallel:2", raw("mistral", "many:4"))
    numbers = [
        json.loads(arguments)["number"]
        for _, arguments in turn(client, gateway, route("prompted", "mistral"), stream=True).calls
    ]
    assert numbers == [2, 3]


ODD_ARGUMENTS = ["", "{}", '{"number": 1e999}', '{"": {"": ""}}', '{"a b<>=": [null, true, -0.0]}']


@pytest.mark.parametrize("name", INDEPENDENT)
def test_whatever_was_called_before_can_be_told(
    gateway: Gateway, backend: ScriptedServer, name: str
) -> None:
    client: list[dict[str, Any]] = [{"role": "user", "content": "Go on."}]
    for number, arguments in enumerate(ODD_ARGUMENTS):
        client.append(said([("gone_tool", arguments)], number))
        (call,) = client[-1]["tool_calls"]
        parts = [{"type": "text", "text": f"odd {number}"}]
        client.append({"role": "tool", "tool_call_id": call["id"], "content": parts})
    backend.use("std", raw(name, ["Fine."]))
    body = chat_body(model=route("prompted", name), messages=client, tools=[NEXT])
    assert read(ask(gateway.port, body)).content == "Fine."
    shown = json.dumps(backend.requests[-1].json["messages"])
    assert all(f"odd {number}" in shown for number in range(len(ODD_ARGUMENTS)))
    assert shown.count("gone_tool") >= len(ODD_ARGUMENTS)
