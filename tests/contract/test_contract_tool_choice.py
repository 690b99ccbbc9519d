"""tool_choice in all its forms: how it is read, what a backend is offered, what comes back."""

from typing import Any

import pytest
from tests.contract.chatting import Client, chat, speaking
from tests.contract.joining import join, whole
from tests.contract.wire import ABSENT, READER, body, read, tool

from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.protocol.tools import ToolChoice

TOOLS = [tool("f"), tool("g"), {"type": "custom", "custom": {"name": "c"}}]
F, G = frozenset({"f"}), frozenset({"f", "g"})


def nested(name: str) -> dict[str, Any]:
    """`{"type": "function", "function": {"name": ..}}`"""
    return {"type": "function", "function": {"name": name}}


def allowed(mode: str, *names: str) -> dict[str, Any]:
    """`allowed_tools`"""
    inner = {"mode": mode, "tools": [nested(name) for name in names]}
    return {"type": "allowed_tools", "allowed_tools": inner}


FORMS = {
    "absent": (ABSENT, ToolChoice("auto")),
    "null": (None, ToolChoice("auto")),
    "auto": ("auto", ToolChoice("auto")),
    "none": ("none", ToolChoice("none")),
    "required": ("required", ToolChoice("required")),
    "named, nested": (nested("f"), ToolChoice("required", F, named=True)),
    "named, flat": ({"type": "function", "name": "f"}, ToolChoice("required", F, named=True)),
    "named, without type": ({"function": {"name": "f"}}, ToolChoice("required", F, named=True)),
    "named custom": (
        {"type": "custom", "custom": {"name": "c"}},
        ToolChoice("required", frozenset({"c"}), named=True),
    ),
    "allowed, auto": (allowed("auto", "f", "g"), ToolChoice("auto", G)),
    "allowed, required": (allowed("required", "f"), ToolChoice("required", F)),
    "allowed, flat": (
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        ToolChoice("auto", F),
    ),
    "allowed, without mode": (
        {"type": "allowed_tools", "allowed_tools": {"tools": [nested("f")]}},
        ToolChoice("auto", F),
    ),
}


@pytest.mark.parametrize(("value", "choice"), FORMS.values(), ids=FORMS)
def test_every_form_is_understood(value: Any, choice: ToolChoice) -> None:
    assert READER.read(body(tools=TOOLS, tool_choice=value)).choice == choice


def test_only_allowed_tools_are_offered_to_the_backend() -> None:
    plan = read(body(tools=TOOLS[:2], tool_choice=allowed("auto", "g")))
    assert list(plan.outgoing.tools.tools) == ["g"]


def test_a_named_tool_leaves_the_others_where_they_are() -> None:
    """The prompt stays the same, and with it the backend's prompt cache."""
    plan = read(body(tools=TOOLS[:2], tool_choice=nested("g")))
    assert list(plan.outgoing.tools.tools) == ["f", "g"]


def answer(choice: Any, *names: str, text: str = "", stream: bool = False) -> Client:
    """The answer of a model that makes these calls, whatever was asked of it."""
    calls = tuple(CallFragment(at, f"x{at}", name, "{}") for at, name in enumerate(names))
    backend = speaking(Fragment(text=text), Fragment(calls=calls), Fragment(finish="stop"))
    return chat(body(tools=TOOLS[:2], tool_choice=choice, stream=stream), backend)


def calls_in(choice: Any, *names: str, text: str = "") -> list[str]:
    """The names of the calls that reach the client: the same streamed or not."""
    at_once = whole(answer(choice, *names, text=text).json)[0]
    streamed = join(answer(choice, *names, text=text, stream=True).chunks)[0]
    assert streamed.calls == at_once.calls
    assert streamed.finish_reason == at_once.finish_reason
    assert at_once.finish_reason == ("tool_calls" if at_once.calls else "stop")
    return [call["function"]["name"] for call in at_once.calls]


def test_none_lets_no_call_back_whatever_the_model_says() -> None:
    assert calls_in("none", "f", "g", text="Hi") == []


def test_auto_lets_any_call_back() -> None:
    assert calls_in("auto", "f", "g") == ["f", "g"]


def test_required_lets_any_call_back() -> None:
    assert calls_in("required", "g", "f") == ["g", "f"]


def test_a_named_choice_lets_only_that_call_back() -> None:
    assert calls_in(nested("g"), "f", "g", "f") == ["g"]


def test_allowed_tools_let_only_those_calls_back() -> None:
    assert calls_in(allowed("auto", "g"), "f", "g", "g") == ["g", "g"]


def test_no_parallel_calls_means_at_most_one() -> None:
    calls = (CallFragment(0, "a", "f", "{}"), CallFragment(1, "b", "g", "{}"))
    backend = speaking(Fragment(calls=calls), Fragment(finish="tool_calls"))
    client = chat(body(tools=TOOLS[:2], parallel_tool_calls=False), backend)
    assert [call["function"]["name"] for call in whole(client.json)[0].calls] == ["f"]
    assert client.headers["toolwire-repairs"] == "call_dropped:parallel_tool_calls_false"


UNMET = {
    "required": ("required", ()),
    "named": (nested("f"), ()),
    "named, another called": (nested("f"), ("g",)),
    "allowed and required": (allowed("required", "f"), ("g",)),
}


@pytest.mark.parametrize(("choice", "names"), UNMET.values(), ids=UNMET)
@pytest.mark.parametrize("stream", [False, True])
def test_a_demand_that_is_not_met_is_an_error_and_not_an_answer(
    choice: Any, names: tuple[str, ...], stream: bool
) -> None:
    client = answer(choice, *names, text="I would rather not.", stream=stream)
    error = (client.events[-1] if client.status == 200 else client.json)["error"]
    assert (error["code"], error["type"]) == ("tool_choice_unmet", "server_error")
    assert error["param"] == "tool_choice"
    assert b"[DONE]" not in client.written


WRITTEN = '{"name": "f", "arguments": {"p": 1}}'
TEXTS = {
    "a fence": (f"```json\n{WRITTEN}\n```", ["f"]),
    "two fences": (f"```json\n{WRITTEN}\n```\n```json\n{WRITTEN}\n```", ["f", "f"]),
    "bare": (WRITTEN, ["f"]),
    "in markers": (f"<tool_call>\n{WRITTEN}\n</tool_call>", ["f"]),
    "a fence behind text": (f"Like this:\n```json\n{WRITTEN}\n```", []),
    "markers behind text": (f"Models write <tool_call>\n{WRITTEN}\n</tool_call>", []),
    "a tool that nobody declared": ('```json\n{"name": "rm", "arguments": {}}\n```', []),
}


@pytest.mark.parametrize(("text", "names"), TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("choice", ["required", nested("f")], ids=["required", "named"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_demanded_call_counts_as_text_even_with_native_tools(
    text: str, names: list[str], choice: Any, stream: bool
) -> None:
    pieces = [Fragment(text=char) for char in text]
    backend = speaking(*pieces, Fragment(finish="stop"))
    client = chat(body(tools=TOOLS[:2], tool_choice=choice, stream=stream), backend)
    if not names:
        assert (client.status, client.json["error"]["code"]) == (502, "tool_choice_unmet")
        return
    made = join(client.chunks)[0] if stream else whole(client.json)[0]
    assert [call["function"]["name"] for call in made.calls] == names
    assert len(client.asked) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_is_not_demanded_stays_text_with_native_tools(stream: bool) -> None:
    backend = speaking(Fragment(text=WRITTEN), Fragment(finish="stop"))
    client = chat(body(tools=TOOLS[:2], stream=stream), backend)
    made = join(client.chunks)[0] if stream else whole(client.json)[0]
    assert (made.content, made.calls) == (WRITTEN, [])


def test_a_model_that_was_cut_off_before_its_call_is_not_blamed() -> None:
    backend = speaking(Fragment(text="Let me"), Fragment(finish="length"))
    client = chat(body(tools=TOOLS[:2], tool_choice="required"), backend)
    assert whole(client.json)[0].finish_reason == "length"


def test_what_was_left_out_is_said_in_a_header() -> None:
    assert answer("none", "f").headers["toolwire-repairs"] == "call_dropped:tool_choice_none"
    dropped = answer(allowed("auto", "g"), "f").headers["toolwire-repairs"]
    assert dropped == "call_dropped:tool_not_allowed"
