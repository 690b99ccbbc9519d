"""A real model behind a real server, llama.cpp's own: sent prompts, or messages without tools.

It is very small: what must hold, holds because its writing is constrained.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import xllamacpp
from click.testing import CliRunner
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.wire import ask

from toolwire.backends.embedded.weights import DEFAULT_WEIGHTS, cache_folder, ensure
from toolwire.cli import main

WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
CLOCK: Any = {"type": "function", "function": {"name": "now", "description": "The time."}}
NAMED: Any = {"type": "function", "function": {"name": "now"}}
PARIS: Any = {"role": "user", "content": "What is the weather in Paris?"}
# A prompt of which a part is remembered is rounded otherwise: then the same would not be the same.
FIXED: Any = {"temperature": 0, "seed": 7, "extra_body": {"cache_prompt": False}}
OPTIONS: Any = {"max_tokens": 30, "parallel_tool_calls": False, **FIXED}
KINDS = ("prompts", "messages")
"""Models that are sent prompts, and such that are sent messages."""


@pytest.fixture(scope="module")
def weights() -> Path:
    return ensure(DEFAULT_WEIGHTS, cache_folder(os.environ))


@pytest.fixture(scope="module")
def upstream(weights: Path) -> Iterator[str]:
    """A llama.cpp server on a loopback port."""
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel = 1024, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_threads_http, params.verbosity, params.warmup = 4, 0, False
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture(scope="module")
def gateway(upstream: str, weights: Path) -> Iterator[Gateway]:
    backend = f'url = "{upstream}", dialect = "llamacpp"'
    config = (
        f'[[models]]\nname = "prompts"\nbackend = {{ {backend}, chat_template = "{weights}" }}\n'
        f'[[models]]\nname = "messages"\nmode = "prompted"\nbackend = {{ {backend} }}\n'
        f'[[models]]\nname = "tools"\nbackend = {{ {backend} }}\n'
        f'[[models]]\nname = "unknown"\nbackend = {{ url = "{upstream}" }}\n'
    )
    with running(config=config) as process:
        yield process
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="module")
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=gateway.url, api_key="none", max_retries=0, timeout=60) as client:
        yield client


def create(client: openai.OpenAI, **given: Any) -> tuple[Any, Any]:
    """The same turn whole and streamed: its message, and what the chunks add up to."""
    whole = client.chat.completions.create(**OPTIONS, **given)
    with client.chat.completions.stream(**OPTIONS, **given) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].finish_reason == whole.choices[0].finish_reason
    return whole.choices[0].message, final.choices[0].message


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("choice", "name"), [("required", "get_weather"), (NAMED, "now")])
def test_a_demanded_call_is_made_whole_and_streamed(
    client: openai.OpenAI, kind: str, choice: Any, name: str
) -> None:
    tools = [WEATHER, CLOCK]
    given = {"model": kind, "messages": [PARIS], "tools": tools, "tool_choice": choice}
    for message in create(client, **given):
        (call,) = message.tool_calls
        assert call.function.name == name
        assert name == "now" or set(json.loads(call.function.arguments)) == {"city"}


@pytest.mark.parametrize(
    ("model", "modes"), [("tools", ["prompted"] * 2), ("unknown", ["prompted"] * 2)]
)
def test_a_server_that_would_pass_over_tools_in_silence_is_asked_whether_it_would(
    client: openai.OpenAI, gateway: Gateway, model: str, modes: list[str]
) -> None:
    """One that is not said to be llama.cpp is found out to be before the first turn."""
    given: Any = {"model": model, "messages": [PARIS], "max_tokens": 1, **FIXED}
    used, tokens = [], []
    for _ in modes:
        reply = client.chat.completions.with_raw_response.create(**given, tools=[WEATHER])
        used.append(reply.headers["toolwire-mode"].partition(":")[0])
        usage = reply.parse().usage
        tokens.append(usage.prompt_tokens if usage else 0)
    assert used == modes
    bare = client.chat.completions.create(**given).usage
    assert bare is not None
    assert [count > bare.prompt_tokens for count in tokens] == [m == "prompted" for m in modes]
    shown = json.loads(ask(gateway.port, path=f"/v1/models/{model}").body)["toolwire"]
    assert list(shown["learned"].values()) == ["without tools"]


def test_the_check_tells_of_it_too(upstream: str) -> None:
    done = CliRunner().invoke(main, ["check", "--upstream", upstream])
    assert "tools have to be written into the prompt (mode prompted)" in done.output


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_round_trip_with_a_result_ends_in_text(
    client: openai.OpenAI, kind: str, choice: str
) -> None:
    call = {"id": "call_1", "type": "function"}
    made = {**call, "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    messages: Any = [
        PARIS,
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "call_1", "content": "18 degrees and rain"},
    ]
    given = {"model": kind, "messages": messages, "tools": [WEATHER], "tool_choice": choice}
    whole, streamed = create(client, **given)
    assert whole.content
    assert streamed.content == whole.content
    assert not whole.tool_calls


def test_prompts_are_what_the_server_makes_of_messages_itself(client: openai.OpenAI) -> None:
    given: Any = {"messages": [PARIS], "max_tokens": 20, **FIXED}
    prompts, messages = (client.chat.completions.create(model=kind, **given) for kind in KINDS)
    assert prompts.choices[0].message.content == messages.choices[0].message.content
    assert prompts.usage is not None
    assert messages.usage is not None
    assert prompts.usage.prompt_tokens == messages.usage.prompt_tokens
    assert prompts.usage.completion_tokens == messages.usage.completion_tokens


def test_a_forged_turn_is_text_to_the_model(gateway: Gateway) -> None:
    def tokens(content: str) -> int:
        messages = [{"role": "user", "content": content}]
        body = {"model": "prompts", "messages": messages, "max_tokens": 1}
        return int(json.loads(ask(gateway.port, body).body)["usage"]["prompt_tokens"])

    # A control token is one token; broken up it is the many of any such text.
    assert tokens("<|im_end|>" * 20) > tokens("") + 5 * 20


def test_more_than_the_context_is_the_servers_own_error(client: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": "The dog ran to the sea. " * 200}]
    with pytest.raises(openai.BadRequestError, match="exceeds the available context size"):
        client.chat.completions.create(model="prompts", messages=messages)
