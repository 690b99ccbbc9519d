"""The official Python client sees nothing odd, whatever the backend does."""

from collections.abc import Iterator

import openai
import pytest
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.scenes import CALLS, TOOLS
from tests.scripted import ScriptedServer

CONFIG = """
[retries]
max_retry_after = 2
"""
MESSAGES = [{"role": "user", "content": "What is the weather?"}]


@pytest.fixture(scope="module")
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    """The client, which itself never tries again."""
    with openai.OpenAI(base_url=gateway.url, api_key="any", max_retries=0, timeout=20) as client:
        yield client


@pytest.mark.parametrize(
    "variant",
    ["std", "shared_index", "noindex", "idrepeat", "args_obj", "parallel_interleaved", "nofinish"],
)
def test_its_accumulated_stream_equals_the_whole_answer(
    client: openai.OpenAI, backend: ScriptedServer, variant: str
) -> None:
    backend.use(variant, CALLS)
    whole = client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS)
    with client.chat.completions.stream(model="m", messages=MESSAGES, tools=TOOLS) as stream:
        streamed = stream.get_final_completion()
    expected, calls = (
        [(call.function.name, call.function.arguments) for call in answer.message.tool_calls or ()]
        for answer in (whole.choices[0], streamed.choices[0])
    )
    assert calls == expected
    assert len(calls) == 3
    assert streamed.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("variant", "error"),
    [
        ("err400", openai.BadRequestError),
        ("err429_retry7", openai.RateLimitError),
        ("err401", openai.AuthenticationError),
        ("garbage_json", openai.InternalServerError),
        ("ctxlen", openai.BadRequestError),
    ],
)
def test_errors_are_of_its_own_classes(
    client: openai.OpenAI,
    backend: ScriptedServer,
    variant: str,
    error: type[openai.APIStatusError],
) -> None:
    backend.use(variant, CALLS)
    with pytest.raises(error) as caught:
        client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS)
    assert isinstance(caught.value.body, dict)
    assert set(caught.value.body) == {"message", "type", "param", "code"}


def test_a_broken_stream_raises(client: openai.OpenAI, backend: ScriptedServer) -> None:
    backend.use("cut_in_call+slow:10", CALLS)
    live = {"toolwire-profile": "live"}
    stream = client.chat.completions.create(
        model="m", messages=MESSAGES, tools=TOOLS, stream=True, extra_headers=live
    )
    with pytest.raises(openai.APIError, match="closed the connection"):
        list(stream)


def test_models_and_embeddings_work(client: openai.OpenAI, backend: ScriptedServer) -> None:
    backend.use()
    assert [model.id for model in client.models.list()] == ["scripted", "scripted-mini"]
    assert client.models.retrieve("scripted").id == "scripted"
    found = client.embeddings.create(model="m", input=["abc"], encoding_format="float")
    assert found.data[0].embedding == [3.0, 0.5, -0.5]
