"""The official Python client on `/v1/responses`: its helpers are strict readers."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pydantic
import pytest
from openai.types.responses import ResponseStreamEvent
from tests.e2e.gateway.process import Gateway
from tests.e2e.gateway.scenes import CALLS, TEXT_AND_CALL, TOOLS
from tests.scripted import ScriptedServer

CONFIG = """
[retries]
max_retry_after = 2
"""
FLAT: list[Any] = [{"type": "function", "strict": False, **tool["function"]} for tool in TOOLS]
EVENT: pydantic.TypeAdapter[Any] = pydantic.TypeAdapter(ResponseStreamEvent)
VARIANTS = [
    "std", "shared_index", "noindex", "idrepeat", "args_obj", "parallel_interleaved", "nofinish",
]  # fmt: skip


@pytest.fixture(scope="module")
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    """The client, which itself never tries again."""
    with openai.OpenAI(base_url=gateway.url, api_key="any", max_retries=0, timeout=20) as client:
        yield client


def calls_of(response: Any) -> list[tuple[str, Any]]:
    return [
        (item.name, json.loads(item.arguments))
        for item in response.output
        if item.type == "function_call"
    ]


@pytest.mark.parametrize("variant", VARIANTS)
def test_its_helper_sees_the_whole_answer(
    client: openai.OpenAI, backend: ScriptedServer, variant: str
) -> None:
    backend.use(variant, CALLS)
    whole = client.responses.create(model="m", input="What is the weather?", tools=FLAT)
    with client.responses.stream(model="m", input="What is the weather?", tools=FLAT) as stream:
        streamed = stream.get_final_response()
    assert calls_of(streamed) == calls_of(whole)
    assert len(calls_of(whole)) == 3
    assert streamed.status == whole.status == "completed"


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_event_is_one_of_its_types_with_all_that_it_needs(
    client: openai.OpenAI, backend: ScriptedServer, variant: str
) -> None:
    backend.use(variant, TEXT_AND_CALL)
    events = list(client.responses.create(model="m", input="Hi", tools=FLAT, stream=True))
    for number, event in enumerate(events):
        EVENT.validate_json(event.to_json(), strict=True)
        assert event.sequence_number == number
    assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
    assert events[-1].type == "response.completed"


class City(pydantic.BaseModel):
    """What is asked for."""

    name: str


def test_structured_answers_are_parsed(client: openai.OpenAI, backend: ScriptedServer) -> None:
    backend.use("std", ['{"name": "Paris"}'])
    parsed = client.responses.parse(model="m", input="Which city?", text_format=City)
    assert parsed.output_parsed == City(name="Paris")
    sent = backend.requests[-1].json["response_format"]
    assert sent["json_schema"]["name"] == "City"
    assert sent["json_schema"]["strict"] is True


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
        client.responses.create(model="m", input="Hi", tools=FLAT)
    assert isinstance(caught.value.body, dict)
    assert set(caught.value.body) == {"message", "type", "param", "code"}


def test_a_broken_stream_ends_with_both_errors(
    client: openai.OpenAI, backend: ScriptedServer
) -> None:
    backend.use("cut_in_call+slow:10", CALLS)
    live = {"toolwire-profile": "live"}
    asked: Any = {"model": "m", "input": "Hi", "tools": FLAT, "extra_headers": live}
    events = list(client.responses.create(**asked, stream=True))
    error, failed = events[-2:]
    assert (error.type, failed.type) == ("error", "response.failed")
    assert "closed the connection" in error.message
    assert failed.response.error.message == error.message


def test_a_loop_with_results_goes_on(client: openai.OpenAI, backend: ScriptedServer) -> None:
    backend.use("std", [*TEXT_AND_CALL, "It rains."])
    said: list[Any] = [{"role": "user", "content": "What is the weather?"}]
    first = client.responses.create(model="m", input=said, tools=FLAT)
    said += first.output
    said += [
        {"type": "function_call_output", "call_id": item.call_id, "output": "rain"}
        for item in first.output
        if item.type == "function_call"
    ]
    assert client.responses.create(model="m", input=said, tools=FLAT).output_text == "It rains."
    roles = [message["role"] for message in backend.requests[-1].json["messages"]]
    assert roles == ["user", "assistant", "tool"]


def test_a_conversation_goes_on_from_a_response(
    client: openai.OpenAI, backend: ScriptedServer
) -> None:
    backend.use("std", [*TEXT_AND_CALL, "It rains."])
    with client.responses.stream(model="m", input="What is the weather?", tools=FLAT) as stream:
        first = stream.get_final_response()
    results: list[Any] = [
        {"type": "function_call_output", "call_id": item.call_id, "output": "rain"}
        for item in first.output
        if item.type == "function_call"
    ]
    second = client.responses.create(
        model="m", input=results, previous_response_id=first.id, tools=FLAT
    )
    assert second.output_text == "It rains."
    roles = [message["role"] for message in backend.requests[-1].json["messages"]]
    assert roles == ["user", "assistant", "tool"]


def test_what_is_kept_can_be_read_listed_and_deleted(
    client: openai.OpenAI, backend: ScriptedServer
) -> None:
    backend.use("std", ["Hi"])
    made = client.responses.create(model="m", input="Hello", metadata={"a": "b"})
    shown = client.responses.retrieve(made.id)
    assert (shown.output_text, shown.metadata) == ("Hi", {"a": "b"})
    (item,) = client.responses.input_items.list(made.id)
    assert item.to_dict()["content"] == [{"type": "input_text", "text": "Hello"}]
    client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(made.id)
    with pytest.raises(openai.BadRequestError, match="not found"):
        client.responses.create(model="m", input="Hello", previous_response_id=made.id)


def test_tokens_are_counted(client: openai.OpenAI) -> None:
    counted = client.responses.input_tokens.count(model="m", input="Hello, how are you?")
    assert counted.input_tokens == 8


@pytest.mark.parametrize("path", ["responses/compact", "conversations", "conversations/c/items"])
def test_what_is_not_served_is_not_found(client: openai.OpenAI, path: str) -> None:
    with pytest.raises(openai.NotFoundError):
        client.post(f"/{path}", body={}, cast_to=object)
