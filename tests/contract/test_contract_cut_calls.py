"""A call whose JSON is not closed never ends in `tool_calls`, streamed or whole, on any path."""

import pytest
from tests.contract.chatting import Backend, chat, speaking
from tests.contract.wire import body, tool

from toolwire.protocol.fragments import CallFragment, Fragment

TOOLS = [tool("read", {"type": "object", "properties": {"p": {"type": "string"}}})]
CUT = '{"p": "/et'
REASONS = ("stop", "tool_calls", "function_call", "eos", "length")


def native(reason: str) -> Backend:
    """A backend that breaks off inside a call and says that it is done."""
    call = CallFragment(0, "a", "read", CUT)
    return speaking(Fragment(calls=(call,)), Fragment(finish=reason))


def as_text(reason: str) -> Backend:
    """The same, with the call in its text."""
    text = f'<tool_call>\n{{"name": "read", "arguments": {CUT}'
    return speaking(Fragment(text=text), Fragment(finish=reason))


@pytest.mark.parametrize("reason", REASONS)
def test_a_native_call_that_is_cut_ends_in_length(reason: str) -> None:
    streamed = chat(body(tools=TOOLS, stream=True), native(reason)).chunks[-1]
    whole = chat(body(tools=TOOLS), native(reason)).json
    assert streamed["choices"][0]["finish_reason"] == "length"
    assert whole["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("reason", ["stop", "tool_calls"])
def test_a_whole_call_that_is_cut_is_text(reason: str) -> None:
    message = chat(body(tools=TOOLS), native(reason)).json["choices"][0]["message"]
    assert "tool_calls" not in message
    assert message["content"] == f"read({CUT})"


@pytest.mark.parametrize("mode", ["hybrid", "prompted"])
@pytest.mark.parametrize("reason", REASONS)
def test_a_call_in_text_that_is_cut_is_never_finished(reason: str, mode: str) -> None:
    client = chat(body(tools=TOOLS, stream=True), as_text(reason), mode=mode)
    assert client.chunks[-1]["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("mode", ["hybrid", "prompted"])
def test_a_whole_call_in_text_that_is_cut_is_the_text(mode: str) -> None:
    client = chat(body(tools=TOOLS), as_text("stop"), mode=mode)
    (choice,) = client.json["choices"]
    assert "tool_calls" not in choice["message"]
    assert choice["message"]["content"] == f'<tool_call>\n{{"name": "read", "arguments": {CUT}'
    assert choice["finish_reason"] == "length"
    assert client.headers["toolwire-findings"] == "malformed_tool_arguments:read"
