"""Channels and reasoning are read also where nothing may be called, and no call comes of it."""

from typing import Any

import pytest
from tests.contract.chatting import Client, chat, speaking
from tests.contract.wire import body, tool

from toolwire.formats import get, names
from toolwire.formats.prose import has_prose, prose_parser
from toolwire.protocol.events import ReasoningDelta, TextDelta
from toolwire.protocol.fragments import Fragment

HARMONY = (
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello."
)
HARMONY_CALL = (
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
    "<|start|>assistant<|channel|>final<|message|>Hello."
)
WITHOUT: list[dict[str, Any]] = [{}, {"tools": [tool("f")], "tool_choice": "none"}, {"tools": []}]


def say(text: str, model: str, mode: Any = "auto", **fields: Any) -> Client:
    pieces = [Fragment(text=letter) for letter in text]
    return chat(body(model=model, **fields), speaking(*pieces, Fragment(finish="stop")), mode=mode)


def message(client: Client) -> Any:
    return client.json["choices"][0]["message"]


@pytest.mark.parametrize("mode", ["auto", "hybrid", "prompted"])
@pytest.mark.parametrize("fields", WITHOUT, ids=["no tools", "none", "empty"])
def test_harmony_is_read_without_tools(fields: dict[str, Any], mode: str) -> None:
    said = message(say(HARMONY, "gpt-oss-20b", mode, **fields))
    assert (said["content"], said["reasoning_content"]) == ("Hello.", "Hm.")


@pytest.mark.parametrize("fields", WITHOUT, ids=["no tools", "none", "empty"])
def test_a_call_that_nobody_allowed_does_not_come_out(fields: dict[str, Any]) -> None:
    client = say(HARMONY_CALL, "gpt-oss-20b", **fields)
    assert message(client)["content"] == "Hello."
    assert "tool_calls" not in message(client)
    assert client.json["choices"][0]["finish_reason"] == "stop"
    assert "call_dropped" in client.headers["toolwire-repairs"]


@pytest.mark.parametrize("fields", WITHOUT, ids=["no tools", "none", "empty"])
def test_reasoning_is_read_and_the_markers_of_a_call_are_text(fields: dict[str, Any]) -> None:
    call = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    said = message(say(f"<think>Hm.</think>Write {call} so.", "Qwen3-8B", **fields))
    assert said == {
        "role": "assistant",
        "content": f"Write {call} so.",
        "refusal": None,
        "reasoning_content": "Hm.",
    }


def test_text_of_a_model_that_nothing_is_known_of_is_not_touched() -> None:
    assert message(say("<think>Hm.</think>", "m"))["content"] == "<think>Hm.</think>"


def test_plain_text_is_not_touched() -> None:
    text = "analysis of `<tool_call>`: [f(x)] {} <b>\n\n```json\n{}\n```\n"
    for model in ("Qwen3-8B", "gpt-oss-20b", "DeepSeek-R1", "Mistral-7B"):
        assert message(say(text, model))["content"].rstrip() == text.rstrip()


@pytest.mark.parametrize("name", [name for name in names() if has_prose(name)])
def test_no_format_loses_plain_text(name: str) -> None:
    text = "A plain answer, of two\nlines."
    parser = prose_parser(get(name).name)
    events = [e for letter in text for e in parser.feed(letter)] + parser.finish()
    said = "".join(e.text for e in events if isinstance(e, TextDelta | ReasoningDelta))
    assert said == text
