"""`toolwire serve` with no configuration at all: what the first minute is like."""

import json
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.watch import pinging
from tests.e2e.gateway.wire import ask, chat_body

HELLO: Any = [{"role": "user", "content": "Say hello to the world."}]
LONG: Any = [{"role": "user", "content": "Write a long story about a dog and the sea."}]
FIXED: Any = {"temperature": 0, "seed": 7}


@pytest.fixture(scope="module")
def story(client: openai.OpenAI) -> ChatCompletion:
    """An answer that can be had again."""
    return client.chat.completions.create(model="m", messages=LONG, max_tokens=20, **FIXED)


def test_it_says_which_model_it_uses_and_what_that_costs(served: Gateway) -> None:
    assert "embedded model SmolLM2-135M-Instruct" in served.log
    found = re.search(r"in ([\d.]+) s: context 4096 tokens, \d+ threads?, (\d+) MB", served.log)
    assert found is not None
    assert float(found[1]) < 20
    # The weights 94 MB, the context 94 MB, the rest the engine's library, Python and buffers.
    assert 200 < int(found[2]) < 320


def test_it_lists_its_model(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["SmolLM2-135M-Instruct"]


def test_it_answers(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="any", messages=HELLO, max_tokens=40)
    assert answer.choices[0].message.content
    assert answer.usage is not None
    assert 30 < answer.usage.prompt_tokens < 45
    assert 0 < answer.usage.completion_tokens <= 40


def test_a_stream_says_what_a_whole_answer_says(
    client: openai.OpenAI, story: ChatCompletion
) -> None:
    stream = client.chat.completions.create(
        model="m",
        messages=LONG,
        max_tokens=20,
        stream=True,
        stream_options={"include_usage": True},
        **FIXED,
    )
    chunks = list(stream)
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == story.choices[0].message.content
    assert chunks[-1].usage == story.usage
    assert len(chunks) > 15


def test_a_stop_sequence_ends_the_answer_and_is_not_part_of_it(
    client: openai.OpenAI, story: ChatCompletion
) -> None:
    text = story.choices[0].message.content or ""
    stop = text.split()[6]
    cut = client.chat.completions.create(
        model="m", messages=LONG, max_tokens=20, stop=[stop], **FIXED
    )
    assert cut.choices[0].message.content == text[: text.index(stop)]
    assert cut.choices[0].finish_reason == "stop"


def test_max_tokens_is_kept_to_the_token(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="m", messages=LONG, max_tokens=5)
    assert answer.choices[0].finish_reason == "length"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 5


def test_several_at_once_get_their_answers_in_the_order_of_asking(client: openai.OpenAI) -> None:
    finished: list[int] = []

    def ask(number: int) -> str:
        time.sleep(number * 0.2)
        messages: Any = [{"role": "user", "content": f"Tell me about the number {number}."}]
        # The first ones have the most to say: nobody gets past them.
        answer = client.chat.completions.create(
            model="m", messages=messages, max_tokens=40 - 12 * number
        )
        finished.append(number)
        return answer.choices[0].message.content or ""

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(ask, range(4)))
    assert all(answers)
    assert len(set(answers)) == 4
    assert finished == [0, 1, 2, 3]


def test_more_than_the_context_is_refused_as_openai_refuses_it(client: openai.OpenAI) -> None:
    messages: Any = [{"role": "user", "content": "The dog ran to the sea. " * 700}]
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="m", messages=messages)
    assert caught.value.code == "context_length_exceeded"
    assert caught.value.param == "messages"
    assert "4096 tokens" in str(caught.value)
    assert "--ctx" in str(caught.value)


def test_what_the_engine_does_not_take_is_an_error_of_the_request(client: openai.OpenAI) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages: Any = [{"role": "user", "content": [image]}]
    with pytest.raises(openai.BadRequestError, match="image input is not supported"):
        client.chat.completions.create(model="m", messages=messages)


def test_other_endpoints_are_refused_clearly(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="only chat completions"):
        client.embeddings.create(model="m", input="x", encoding_format="float")


def test_a_parameter_the_engine_does_not_have_is_named(client: openai.OpenAI) -> None:
    answer = client.chat.completions.with_raw_response.create(
        model="m", messages=HELLO, max_tokens=2, n=2
    )
    assert answer.headers["toolwire-ignored-params"] == "n"


def test_a_client_that_leaves_makes_room_for_the_next(client: openai.OpenAI) -> None:
    with client.chat.completions.create(model="m", messages=LONG, stream=True, seed=1) as stream:
        next(iter(stream))
    started = time.monotonic()
    client.chat.completions.create(model="m", messages=HELLO, max_tokens=1)
    # What was left of the first answer would fill the context: some 900 tokens, half a minute.
    assert time.monotonic() - started < 8


def test_it_stops_in_the_middle_of_an_answer_when_told_to(environment: dict[str, str]) -> None:
    with running("--ctx", "1024", config="[timeouts]\nshutdown = 0\n", env=environment) as gateway:
        client = openai.OpenAI(base_url=gateway.url, api_key="none", max_retries=0)
        stream = client.chat.completions.create(model="m", messages=LONG, stream=True)
        next(iter(stream))
        threading.Timer(0.1, gateway.signal, [signal.SIGTERM]).start()
        with pytest.raises(openai.APIError, match="shutting down"):
            list(stream)
        assert gateway.wait(8) == 0


def test_a_schema_of_megabytes_makes_nobody_wait(served: Gateway) -> None:
    text = {"type": "string", "description": "x" * 200}
    properties = {f"property_{n}": text for n in range(35_000)}
    schema = {"type": "object", "properties": properties, "required": [*properties]}
    form = {"type": "json_schema", "json_schema": {"name": "form", "schema": schema}}
    data = json.dumps(chat_body(response_format=form)).encode()
    with pinging(served) as pings:
        answer = ask(served.port, data, timeout=120)
    assert answer.status == 400
    assert b"too complex" in answer.body
    assert pings.worst <= 0.25
