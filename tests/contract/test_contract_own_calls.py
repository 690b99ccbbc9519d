"""An agent is never stopped by a call that was sent to it: not JSON, but answered (spec 1.7)."""

import json
from typing import Any

import pytest
from tests.contract.chatting import Backend, chat, speaking
from tests.contract.malformed.histories import unreadable
from tests.contract.wire import USER, asked, body, call, result, tool

from toolwire.protocol.fragments import CallFragment, Fragment

TOOLS = [tool("f", {"type": "object", "properties": {"city": {"type": "string"}}})]


def said(text: str = "ok") -> Backend:
    return speaking(Fragment(text=text), Fragment(finish="stop"))


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize("mode", ["native", "prompted"])
def test_what_was_delivered_live_may_come_back(mode: Any, repair: bool) -> None:
    cut = CallFragment(0, "a", "f", '{"city": "Par')
    backend = speaking(Fragment(calls=(cut,)), Fragment(finish="stop"))
    live = {b"toolwire-profile": b"live"}
    chunks = chat(body(tools=TOOLS, stream=True), backend, headers=live).chunks
    deltas = [c for chunk in chunks for c in chunk["choices"][0]["delta"].get("tool_calls", ())]
    arguments = "".join(delta["function"]["arguments"] for delta in deltas)
    made = call(deltas[0]["id"], arguments=arguments)
    history = [USER, asked(made), result(made["id"], "Error: invalid JSON")]
    client = chat(body(messages=history, tools=TOOLS), said(), mode=mode, repair_history=repair)
    assert client.status == 200
    assert "arguments_quoted" in client.headers["toolwire-repairs"]


@pytest.mark.parametrize("name", ["container.exec", "a b", "é", "x" * 65])
@pytest.mark.parametrize("stream", [False, True])
def test_a_call_of_a_tool_with_an_invalid_name_may_come_back(name: str, stream: bool) -> None:
    made_up = CallFragment(0, "a", name, "{}")
    backend = speaking(Fragment(calls=(made_up,)), Fragment(finish="tool_calls"))
    client = chat(body(tools=TOOLS, stream=stream), backend)
    if stream:
        deltas = [d for c in client.chunks for d in c["choices"][0]["delta"].get("tool_calls", ())]
        delivered = deltas[0]["function"]["name"]
    else:
        delivered = client.json["choices"][0]["message"]["tool_calls"][0]["function"]["name"]
    history = [USER, asked(call("c", delivered)), result("c", "Error: no such tool")]
    assert chat(body(messages=history, tools=TOOLS), said()).status == 200


@pytest.mark.parametrize("name", sorted(unreadable()))
def test_arguments_that_are_no_json_reach_the_backend_as_json(name: str) -> None:
    text = unreadable()[name]
    client = chat(body(messages=[USER, asked(call(arguments=text)), result()]), said())
    assert client.status == 200
    (made,) = client.asked[0].messages[1].calls
    assert isinstance(json.loads(made.arguments, parse_int=str), dict)


def test_a_loop_of_calls_that_are_no_json_is_still_explained() -> None:
    turns = []
    for number in range(3):
        made = call(f"c{number}", arguments='{"city": "Par')
        turns += [asked(made), result(made["id"], "Error")]
    client = chat(body(messages=[USER, *turns], tools=TOOLS), said())
    assert "loop_explained:f" in client.headers["toolwire-repairs"]
    assert "not valid JSON" in str(client.asked[0].messages[-1].content)
