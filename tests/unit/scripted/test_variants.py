"""`std` is the stream that every client accepts; the real OpenAI client reads it."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from tests.scripted import ScriptedServer
from tests.scripted.play import Seen, events_of, play_stream, play_whole, read_stream
from tests.scripted.variants import load_variant

ARGS = {"path": "a.txt", "content": "one two three"}
SAID: list[Any] = [
    {"text": "Hello there", "reasoning": "Hm.", "calls": [["write_file", ARGS], ["status", {}]]},
    "All done.",
]
USER: Any = {"role": "user", "content": "Go."}


@pytest.fixture(scope="module")
def client() -> Iterator[openai.OpenAI]:
    with (
        ScriptedServer("std", SAID) as server,
        openai.OpenAI(base_url=server.url, api_key="k", max_retries=0) as client,
    ):
        yield client


def std(**body: Any) -> Seen:
    return read_stream(play_stream("std", SAID, **body))


def test_the_deltas_come_in_the_order_of_the_contract() -> None:
    keys = [sorted(delta) for delta in std().deltas]
    assert keys[0] == ["content", "role"]
    assert keys[1:4] == [["reasoning_content"], ["content"], ["content"]]
    assert {tuple(key) for key in keys[4:-1]} == {("tool_calls",)}
    assert keys[-1] == []


def test_calls_come_one_after_the_other_and_name_themselves_once() -> None:
    calls = std().calls
    assert [call["index"] for call in calls] == sorted(call["index"] for call in calls)
    heads = [call for call in calls if "id" in call]
    assert [call["function"]["name"] for call in heads] == ["write_file", "status"]
    assert all(set(call) == {"index", "function"} for call in calls if call not in heads)


def test_every_chunk_has_the_same_envelope_and_the_last_two_end_it() -> None:
    chunks = std().chunks
    assert {(chunk["id"], chunk["object"], chunk["created"]) for chunk in chunks} == {
        (chunks[0]["id"], "chat.completion.chunk", 1_700_000_000)
    }
    assert std().finishes == ["tool_calls"]
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    assert chunks[-1]["choices"] == []
    assert events_of(play_stream("std", SAID))[-1] == "[DONE]"


def test_usage_comes_only_if_it_was_asked_for() -> None:
    assert not any("usage" in chunk for chunk in std(stream_options=None).chunks)


def test_the_same_request_gets_the_same_bytes() -> None:
    assert play_stream("std", SAID).body == play_stream("std", SAID).body


def test_stream_and_whole_answer_have_the_same_usage_and_ids() -> None:
    whole = json.loads(play_whole("std", SAID).body)
    seen = std()
    assert whole["usage"] == seen.chunks[-1]["usage"]
    assert [call["id"] for call in whole["choices"][0]["message"]["tool_calls"]] == [
        call["id"] for call in seen.calls if "id" in call
    ]


def test_variants_can_be_chained_and_take_a_parameter_each() -> None:
    reply = play_stream("norole+flood:5+crlf", SAID)
    assert b'"role"' not in reply.body
    assert reply.body.count(b"\n") == reply.body.count(b"\r\n")
    assert len(events_of(reply)) == len(events_of(play_stream("std", SAID))) + 5


def test_an_unknown_variant_is_refused_by_name() -> None:
    with pytest.raises(LookupError, match="no variant is called 'nope'"):
        load_variant("std+nope")


def test_the_openai_client_reads_whole_answers(client: openai.OpenAI) -> None:
    made = client.chat.completions.create(model="m", messages=[USER])
    message = made.choices[0].message
    assert message.content == "Hello there"
    assert message.tool_calls is not None
    assert [call.to_dict()["function"] for call in message.tool_calls] == [
        {"name": "write_file", "arguments": json.dumps(ARGS)},
        {"name": "status", "arguments": "{}"},
    ]


def test_the_openai_client_reads_streams(client: openai.OpenAI) -> None:
    whole = client.chat.completions.create(model="m", messages=[USER])
    with client.chat.completions.stream(
        model="m", messages=[USER], stream_options={"include_usage": True}
    ) as stream:
        final = stream.get_final_completion()
    assert final.usage == whole.usage
    ours, theirs = (answer.choices[0].to_dict() for answer in (whole, final))
    assert theirs["finish_reason"] == "tool_calls"
    for call in theirs["message"]["tool_calls"]:  # type: ignore[index]
        del call["index"], call["function"]["parsed_arguments"]
    assert theirs["message"]["tool_calls"] == ours["message"]["tool_calls"]  # type: ignore[index]


def test_the_openai_client_finishes_the_conversation(client: openai.OpenAI) -> None:
    said: Any = {"role": "assistant", "content": "Hello there"}
    made = client.chat.completions.create(model="m", messages=[USER, said])
    assert made.choices[0].message.content == "All done."
