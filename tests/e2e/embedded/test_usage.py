"""Usage is counted to the token (SC-006): against llama.cpp's tokenizer, in another server."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.contract.wire import read
from tests.e2e.embedded.llama_server import LlamaServer
from tests.e2e.embedded.tools import PARIS, STRING, TIME, WEATHER, result, said, tool

from toolwire.backends.dialects import DIALECTS
from toolwire.backends.embedded.weights import DEFAULT_WEIGHTS
from toolwire.backends.openai.request import encode_messages
from toolwire.backends.templates.chat_template import read_template
from toolwire.formats import RenderedCall, render_calls
from toolwire.gateway.strategies.prompted import Constrained

HABITS = DEFAULT_WEIGHTS.tuning
HELD = Constrained(examples=HABITS.examples, one_call=True)
CALLED: Any = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
    ],
}
SAVE = tool("save", "Save a text.", {"text": {**STRING, "maxLength": 60}, "size": {"enum": [1, 2]}})
DEMANDED: Any = {"tool_choice": "required"}
REQUESTS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "a word": ([said("Hello")], {}),
    "a story": ([said("Write a long story about a dog and the sea.")], {}),
    "a system prompt": ([{"role": "system", "content": "Be brief."}, said("Who are you?")], {}),
    "several turns": (
        [said("1+1?"), {"role": "assistant", "content": "2"}, said("And 2+2? Only the number.")],
        {},
    ),
    "other scripts": ([said("Привет! 你好！ こんにちは 🙂🚀 è la stessa città")], {}),
    "code": ([said("def f(x):\n\treturn {k: v for k, v in x.items()}  # what is this?")], {}),
    "markers": ([said("What does <|im_start|> mean, and <tool_call>?")], {}),
    "much text": ([said("The dog ran to the sea and came back. " * 30)], {}),
    "warm": ([said("Tell me about the moon.")], {"temperature": 1.0, "seed": 3}),
    "a call": ([PARIS], {"tools": [WEATHER], **DEMANDED}),
    "a call of several": ([said("What time is it in Rome?")], {"tools": [TIME, SAVE], **DEMANDED}),
    "a long call": ([said("Save the alphabet.")], {"tools": [SAVE], **DEMANDED}),
    "a call after a result": (
        [said("The time?"), CALLED, result("c", "12:00 o'clock"), PARIS],
        {"tools": [TIME, WEATHER], **DEMANDED},
    ),
}  # fmt: skip

DOG = "The dog ran to the sea and came back. "
LONG: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "a long text": ([said(DOG * 120)], {}),
    "a long history before a call": (
        [said(DOG * 110), CALLED, result("c", "12:00 o'clock"), PARIS],
        {"tools": [TIME, WEATHER, SAVE], **DEMANDED},
    ),
}
"""Of a thousand tokens and more, where one more or less is no excuse."""


def prompt_of(messages: list[Any], options: dict[str, Any], marks: tuple[str, ...]) -> Any:
    """The conversation as the model is shown it, with the marks of turns broken up in it."""
    raw = json.dumps({"model": "m", "messages": messages, **options}).encode()
    shown = replace(HELD, marks=marks).outgoing(read(raw)).messages
    return json.loads(encode_messages(shown, DIALECTS["llamacpp"]))


def written(message: Any) -> str:
    """What the model wrote."""
    calls = [
        RenderedCall(call.function.name, json.loads(call.function.arguments))
        for call in message.tool_calls or ()
    ]
    return render_calls("generic", calls) if calls else message.content


@pytest.mark.timeout(600)  # a thousand tokens take a busy machine minutes
@pytest.mark.parametrize("name", [*REQUESTS, *LONG])
def test_usage_is_what_a_tokenizer_counts(
    client: openai.OpenAI, llama_server: LlamaServer, weights: Path, name: str
) -> None:
    messages, options = {**REQUESTS, **LONG}[name]
    options = {"temperature": 0, "max_tokens": 100 if "tools" in options else 24, **options}
    patient = client.with_options(timeout=300)
    answer = patient.chat.completions.create(model="m", messages=messages, **options)
    assert answer.usage is not None
    marks = read_template(weights).marks
    expected = llama_server.prompt_tokens_of(prompt_of(messages, options, marks))
    assert answer.usage.prompt_tokens == expected
    # The model may cut a word into other tokens than its tokenizer would; and it ends with one.
    said = llama_server.tokens_of(written(answer.choices[0].message))
    assert answer.usage.completion_tokens == pytest.approx(said, abs=2)
    assert answer.usage.total_tokens == pytest.approx(expected + said, rel=0.01, abs=1)
    if name in LONG:
        total = expected + said
        assert total >= 1000
        assert abs(answer.usage.total_tokens - total) <= total * 0.01
