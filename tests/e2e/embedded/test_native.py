"""Toolwire in front of a real server: llama.cpp's own, from the same wheel."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
import xllamacpp
from tests.e2e.gateway.process import Gateway, running

KEY = "sk-native-backend"
STORY: Any = [{"role": "user", "content": "Write a long story about a dog and the sea."}]
FIXED: Any = {"temperature": 0, "seed": 7, "max_tokens": 16}


@pytest.fixture(scope="module")
def upstream(weights: Path) -> Iterator[str]:
    """A llama.cpp server on a loopback port."""
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.n_ctx, params.n_parallel = 512, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.api_keys, params.n_threads_http = [KEY], 4
    params.verbosity, params.warmup = 0, False
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server


@pytest.fixture(scope="module")
def gateway(upstream: str) -> Iterator[Gateway]:
    flags = ("--upstream", f"{upstream}/v1", "--upstream-dialect", "llamacpp")
    with running(*flags, env={"TOOLWIRE_UPSTREAM_KEY": KEY}) as process:
        yield process
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="module")
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=gateway.url, api_key="none", max_retries=0, timeout=60) as client:
        yield client


def post(upstream: str, path: str, body: dict[str, Any]) -> Any:
    headers = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
    request = urllib.request.Request(upstream + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def tokens_of(upstream: str, text: str) -> int:
    body = {"content": text, "parse_special": True}
    return len(post(upstream, "/tokenize", body)["tokens"])


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


def test_usage_is_what_the_tokenizer_counts(client: openai.OpenAI, upstream: str) -> None:
    answer = client.chat.completions.create(model="m", messages=STORY, **FIXED)
    prompt = post(upstream, "/apply-template", {"messages": STORY})["prompt"]
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == tokens_of(upstream, prompt)
    said = answer.choices[0].message.content or ""
    assert answer.usage.completion_tokens == tokens_of(upstream, said)


def test_the_embedded_engine_counts_as_the_server_does(
    client: openai.OpenAI, served: Gateway
) -> None:
    embedded = openai.OpenAI(base_url=served.url, api_key="none", max_retries=0, timeout=60)
    ours = embedded.chat.completions.create(model="m", messages=STORY, **FIXED)
    theirs = client.chat.completions.create(model="m", messages=STORY, **FIXED)
    assert ours.usage is not None
    assert theirs.usage is not None
    assert ours.usage.prompt_tokens == theirs.usage.prompt_tokens
    assert ours.usage.completion_tokens == theirs.usage.completion_tokens


def test_more_than_the_context_is_the_servers_own_error(client: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": "The dog ran to the sea. " * 200}]
    with pytest.raises(openai.BadRequestError, match="exceeds the available context size"):
        client.chat.completions.create(model="m", messages=messages)
