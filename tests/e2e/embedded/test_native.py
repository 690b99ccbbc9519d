"""Toolwire in front of a real server: llama.cpp's own, from the same wheel."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from tests.e2e.embedded.llama_server import KEY, LlamaServer
from tests.e2e.gateway.process import Gateway, running

STORY: Any = [{"role": "user", "content": "Write a long story about a dog and the sea."}]
FIXED: Any = {"temperature": 0, "seed": 7, "max_tokens": 16}


@pytest.fixture(scope="module")
def gateway(llama_server: LlamaServer) -> Iterator[Gateway]:
    flags = ("--upstream", f"{llama_server.url}/v1", "--upstream-dialect", "llamacpp")
    with running(*flags, env={"TOOLWIRE_UPSTREAM_KEY": KEY}) as process:
        yield process
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="module")
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=gateway.url, api_key="none", max_retries=0, timeout=60) as client:
        yield client


def test_the_models_of_the_server_are_listed(client: openai.OpenAI) -> None:
    assert "SmolLM2" in next(iter(client.models.list())).id


def test_a_stream_says_what_a_whole_answer_says(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="m", messages=STORY, **FIXED)
    options: Any = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(
            model="m", messages=STORY, stream=True, stream_options=options, **FIXED
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert whole.choices[0].finish_reason == "length"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 16


def test_more_than_the_context_is_the_servers_own_error(client: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": "The dog ran to the sea. " * 200}]
    with pytest.raises(openai.BadRequestError, match="exceeds the available context size"):
        client.chat.completions.create(model="m", messages=messages)


def test_usage_is_what_the_tokenizer_counts(
    client: openai.OpenAI, llama_server: LlamaServer
) -> None:
    answer = client.chat.completions.create(model="m", messages=STORY, **FIXED)
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == llama_server.prompt_tokens_of(STORY)
    said = answer.choices[0].message.content or ""
    assert answer.usage.completion_tokens == llama_server.tokens_of(said)
