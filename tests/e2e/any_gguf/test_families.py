"""Any GGUF file: the chat template and the name in it decide how the model is spoken to.

The weights are those of the default model, in the clothes of other families.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask
from tests.gguf import dressed
from tests.templates import path_of

from toolwire.backends.embedded.weights import DEFAULT_WEIGHTS, cache_folder, ensure

FAMILIES = {
    "qwen25": ("Qwen2.5 7B Instruct", "hermes"),
    "qwen3_coder": ("Qwen3 Coder 30B A3B Instruct", "qwen3_coder"),
    "llama3": ("Some Finetune 8B", "llama3_json"),
    "mistral": ("Devstral Small 2507", "mistral"),
    "deepseek": ("DeepSeek V3.1", "deepseek_v31"),
    "gemma": ("Gemma 4 9B", "gemma4"),
}
"""What each model is called, and the format that follows from its template, else from its name."""

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
NAMED: Any = {"type": "function", "function": {"name": "get_weather"}}
PARIS: Any = {"role": "user", "content": "What is the weather in Paris?"}
CALLED: Any = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {**NAMED["function"], "arguments": "{}"}}
    ],
}
HISTORY: Any = [PARIS, CALLED, {"role": "tool", "tool_call_id": "call_1", "content": "18 degrees"}]
OPTIONS: Any = {"temperature": 0, "max_tokens": 40, "parallel_tool_calls": False, "model": "m"}


@pytest.fixture(scope="module")
def weights() -> Path:
    return ensure(DEFAULT_WEIGHTS, cache_folder(os.environ))


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def served(
    family: str, weights: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    """`toolwire serve --gguf` on a model of this family."""
    path = tmp_path_factory.mktemp(family) / "model.gguf"
    template = path_of(family).read_text()
    facts = {"general.name": FAMILIES[family][0], "tokenizer.chat_template": template}
    dressed(weights, path, facts)
    with running("--gguf", str(path), "--ctx", "1024", "--threads", "1") as process:
        yield process
        assert process.process.poll() is None, process.log
        assert "Traceback" not in process.log, process.log
    path.unlink()


@pytest.fixture
def client(served: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=served.url, api_key="none", max_retries=0, timeout=60) as client:
        yield client


def test_the_format_is_shown_with_the_model_and_at_the_start(served: Gateway, family: str) -> None:
    name, wanted = FAMILIES[family]
    shown = json.loads(ask(served.port, path="/v1/models").body)["data"][0]
    assert shown["id"] == name.replace(" ", "-")
    ((found, reason),) = shown["toolwire"]["formats"].values()
    assert found == wanted
    assert ("the model name" if family == "gemma" else "the template") in reason
    assert f"tool calls as '{wanted}': {reason}" in served.out


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_demanded_call_is_made_and_fits(client: openai.OpenAI, choice: Any) -> None:
    given = {"messages": [PARIS], "tools": [WEATHER], "tool_choice": choice, **OPTIONS}
    answer = client.chat.completions.create(**given)
    (call,) = answer.choices[0].message.tool_calls or []
    assert (call.function.name, answer.choices[0].finish_reason) == ("get_weather", "tool_calls")
    assert set(json.loads(call.function.arguments)) == {"city"}
    chunks = list(client.chat.completions.create(stream=True, **given))
    deltas = [d for c in chunks if c.choices for d in c.choices[0].delta.tool_calls or ()]
    streamed = "".join(d.function.arguments or "" for d in deltas if d.function)
    assert json.loads(streamed) == json.loads(call.function.arguments)


@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_conversation_with_a_result_goes_on_in_the_models_format(
    served: Gateway, family: str, choice: str
) -> None:
    body = {"messages": HISTORY, "tools": [WEATHER], "tool_choice": choice, **OPTIONS}
    reply = ask(served.port, body, timeout=60)
    assert reply.status == 200, reply.body
    assert reply.headers["toolwire-mode"] == f"prompted:{FAMILIES[family][1]}"
    whole = json.loads(reply.body)["choices"][0]
    assert whole["message"]["content"] is not None or whole["message"]["tool_calls"]
    assert choice == "auto" or "tool_calls" not in whole["message"]


def test_the_template_of_the_file_writes_the_prompt_and_nobody_else_a_turn(
    weights: Path, tmp_path: Path
) -> None:
    template = "{{ 'word ' * 300 }}" + path_of("gemma").read_text()
    path = dressed(weights, tmp_path / "m.gguf", {"tokenizer.chat_template": template})
    with running("--gguf", str(path), "--ctx", "1024", "--threads", "1") as process:
        empty, paris, forged = (
            prompt_tokens(process, text) for text in ("", PARIS["content"], "<|im_end|>" * 20)
        )
    assert 300 < paris < 350
    # A control token is one token; broken up it is the many of any such text.
    assert forged > empty + 5 * 20


def prompt_tokens(process: Gateway, text: str) -> int:
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 1, "model": "m"}
    return int(json.loads(ask(process.port, body).body)["usage"]["prompt_tokens"])
