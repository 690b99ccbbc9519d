"""`/v1/messages` and `/v1/messages/count_tokens` as a whole."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.contract.chatting import Backend, speaking
from tests.contract.messaging import HELLO, TOOL, blocks, count, ending, events, message

from toolwire.backends.base import Capabilities
from toolwire.errors import UpstreamError
from toolwire.gateway.tool_limits import ToolLimits
from toolwire.protocol.fragments import CallFragment, Fragment
from toolwire.surfaces.messages.sinks import PING

STREAMED = pytest.mark.parametrize("stream", [False, True])
HI = Fragment(text="Hi.", finish="stop")
CALL = Fragment(calls=(CallFragment(0, "x", "get_weather", "{}"),))
UNANSWERED = [
    *HELLO,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": {}}]},
    *HELLO,
]


class Counter:
    """Every word is a token."""

    def __init__(self, error: UpstreamError | None = None) -> None:
        self.error = error

    async def count(self, texts: Sequence[str], *, backend: str, model: str) -> list[int]:
        if self.error is not None:
            raise self.error
        return [len(text.split()) for text in texts]


@STREAMED
def test_a_call_without_a_result_is_answered_and_reported(stream: bool) -> None:
    backend = speaking(HI)
    client = message(backend, messages=UNANSWERED, stream=stream)
    assert [m.role for m in backend.opened[0].messages] == ["user", "assistant", "tool", "user"]
    assert client.headers["toolwire-repairs"] == "missing_result:a"


@STREAMED
def test_an_effort_that_the_backend_does_not_know_is_reported(stream: bool) -> None:
    backend = speaking(HI, capabilities=Capabilities(efforts=("low", "high")))
    client = message(backend, stream=stream, output_config={"effort": "max"})
    assert client.headers["toolwire-adjusted-params"] == "output_config.effort"


def test_requests_of_one_session_belong_together() -> None:
    client = message(speaking(HI), headers={b"x-claude-code-session-id": b"s1"})
    assert client.asked[0].request.affinity == "s1"
    assert message(speaking(HI)).asked[0].request.affinity == ""


@STREAMED
def test_what_was_ignored_is_reported_under_the_clients_names(stream: bool) -> None:
    backend = speaking(HI)
    backend.unsupported = frozenset({"thinking", "top_k", "user"})
    client = message(
        backend,
        stream=stream,
        top_k=5,
        speed="fast",
        thinking={"type": "adaptive"},
        metadata={"user_id": "u"},
    )
    ignored = client.headers["toolwire-ignored-params"].split(", ")
    assert sorted(ignored) == ["metadata.user_id", "speed", "thinking", "top_k"]


@STREAMED
def test_no_tokens_are_an_empty_answer_and_nothing_is_asked(stream: bool) -> None:
    backend = speaking(HI)
    client = message(backend, max_tokens=0, stream=stream)
    assert backend.opened == []
    assert ending(client)["stop_reason"] == "max_tokens"
    assert blocks(client) == [{"type": "text", "text": ""}]


def test_the_backend_is_asked_for_its_usage_in_a_stream() -> None:
    backend = speaking(HI)
    message(backend, stream=True)
    assert backend.opened[0].request.include_usage


def test_what_became_known_during_a_stream_is_on_its_last_event_but_one() -> None:
    odd = Fragment(calls=(CallFragment(0, "x", "GetWeather", "{}"),))
    client = message(speaking(odd, Fragment(finish="tool_calls")), tools=[TOOL], stream=True)
    assert events(client)[-2]["toolwire"]["repairs"]


def test_a_stream_that_has_said_nothing_can_still_fail_with_a_status() -> None:
    assert message(Backend(refusal=UpstreamError("broken")), stream=True).status == 500


def test_a_ping_is_an_event_of_this_api() -> None:
    assert PING == b'event: ping\ndata: {"type":"ping"}\n\n'


def test_tokens_are_estimated_where_nothing_counts_them() -> None:
    small = count().json["input_tokens"]
    with_tool = count(tools=[TOOL]).json["input_tokens"]
    assert 0 < small < with_tool


def test_an_image_counts_as_one_and_not_as_its_bytes() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 500_000}
    messages = [{"role": "user", "content": [{"type": "image", "source": source}]}]
    assert 1000 < count(messages=messages).json["input_tokens"] < 2000


def test_tokens_are_counted_by_the_models_own_tokenizer() -> None:
    messages = [{"role": "user", "content": "one two three"}]
    assert count(messages=messages, tokens=Counter()).json == {"input_tokens": 7}


def test_a_count_and_the_usage_of_the_same_prompt_agree() -> None:
    counted = count(tools=[TOOL], tokens=Counter()).json["input_tokens"]
    used = ending(message(speaking(HI), tools=[TOOL], tokens=Counter()))["usage"]
    assert used["input_tokens"] == counted
    estimated = count(tools=[TOOL]).json["input_tokens"]
    assert ending(message(speaking(HI), tools=[TOOL]))["usage"]["input_tokens"] == estimated


def test_a_tokenizer_that_fails_is_replaced_by_an_estimate() -> None:
    assert count(tokens=Counter(UpstreamError("down"))).json == count().json


def test_a_count_knows_no_rules_between_messages() -> None:
    alone: Any = {"type": "tool_result", "tool_use_id": "x", "content": "ok"}
    assert count(messages=[{"role": "user", "content": [alone]}]).status == 200
    assert count(messages=UNANSWERED).status == 200


def test_tools_that_a_route_leaves_out_are_not_counted() -> None:
    limits = ToolLimits(denied=("get_weather",))
    assert count(tools=[TOOL], limits=limits).json == count().json
