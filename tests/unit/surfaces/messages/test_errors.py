"""Errors in Anthropic's form."""

from typing import Any

import pytest
from tests.contract.chatting import Backend, speaking
from tests.contract.messaging import HELLO, TOOL, events, message

from toolwire.errors import (
    GatewayError,
    InternalError,
    KeyRefused,
    MethodNotAllowed,
    ModelNotFound,
    Overloaded,
    Place,
    ResourceNotFound,
    TooLarge,
    ToolChoiceUnmet,
    Unauthorized,
    UpstreamError,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from toolwire.protocol.fragments import Fragment
from toolwire.surfaces.messages.errors import error_headers, error_type, message_of, sizes_in

FULL = "context_length_exceeded"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Unauthorized("x"), "authentication_error"),
        (ResourceNotFound("x"), "not_found_error"),
        (ModelNotFound("x"), "not_found_error"),
        (MethodNotAllowed("x", allowed=["POST"]), "invalid_request_error"),
        (TooLarge("x"), "request_too_large"),
        (Overloaded("x"), "overloaded_error"),
        (InternalError("x"), "api_error"),
        (UpstreamError("x"), "api_error"),
        (UpstreamTimeout("x"), "timeout_error"),
        (UpstreamUnavailable("x"), "overloaded_error"),
        (UpstreamUnavailable("x", rate_limited=True), "rate_limit_error"),
        (KeyRefused("x", status=403), "permission_error"),
        (UpstreamRefused("x", status=422), "invalid_request_error"),
    ],
)
def test_the_type_is_one_that_clients_know(error: GatewayError, kind: str) -> None:
    assert error_type(error) == kind


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (UpstreamError("broken"), 500, "api_error"),
        (UpstreamUnavailable("busy"), 529, "overloaded_error"),
        (UpstreamUnavailable("slow down", rate_limited=True), 429, "rate_limit_error"),
        (UpstreamTimeout("slow"), 504, "timeout_error"),
        (UpstreamRefused("no", status=400), 400, "invalid_request_error"),
    ],
)
def test_a_backend_that_fails_gives_a_whole_error(
    error: GatewayError, status: int, kind: str
) -> None:
    client = message(Backend(refusal=error), stream=True)
    assert client.status == status
    assert client.json["type"] == "error"
    assert client.json["error"]["type"] == kind
    assert client.json["request_id"] == client.headers["request-id"] == "req_1"


def test_an_error_in_a_stream_is_its_last_event() -> None:
    broken = Backend([[Fragment(text="Let me see.")]], done=False, error=UpstreamError("broken"))
    last = events(message(broken, stream=True))[-1]
    assert (last["type"], last["error"]["type"], last["request_id"]) == (
        "error", "api_error", "req_1",
    )  # fmt: skip


@pytest.mark.parametrize("error", [ToolChoiceUnmet("no call"), KeyRefused("wrong key")])
def test_what_will_not_change_is_not_to_be_tried_again(error: GatewayError) -> None:
    assert ("x-should-retry", "false") in error_headers(error)


def test_when_to_try_again_is_said_in_seconds() -> None:
    error = UpstreamUnavailable("busy", retry_after=1.2)
    assert ("retry-after", "2") in error_headers(error)


def test_threads_are_refused_with_details() -> None:
    client = message(thread={"type": "create"})
    assert client.status == 400
    assert client.json["error"]["type"] == "invalid_request_error"
    assert client.json["error"]["details"] == {"error_code": "thread_unsupported_request"}


def test_a_place_is_that_of_the_clients_message() -> None:
    use = {"type": "tool_use", "id": "a" * 300, "name": "get_weather", "input": {}}
    messages = [*HELLO, {"role": "assistant", "content": [use]}, *HELLO]
    client = message(speaking(), messages=messages, tools=[TOOL], system="Be brief.")
    assert client.status == 400
    error = UpstreamRefused("text only", status=400, place=Place(message=3, part=0))
    assert message_of(error, (0, 0, 1, 2), 0) == "messages.2.content: text only"


@pytest.mark.parametrize(
    ("words", "prompt", "window"),
    [
        (
            "This model's maximum context length is 32768 tokens. However, you requested 42000 "
            "tokens (10000 in the messages, 32000 in the completion).",
            10000,
            32768,
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum "
            "context length is 32768 tokens and your request has 1000 input tokens",
            1000,
            32768,
        ),
        (
            "This model's maximum context length is 8,192 tokens. However, your messages resulted "
            "in 9,001 tokens.",
            9001,
            8192,
        ),
        ("request (9000 tokens) exceeds the available context size (8192 tokens)", 9000, 8192),
        (
            "The decoder prompt (length 4000) is longer than the maximum model length of 2048",
            4000,
            2048,
        ),
        ("`inputs` must have less than 4096 tokens. Given: 5000", 5000, 4096),
        ("prompt is too long: 40000 tokens > 32768 maximum", 40000, 32768),
        (
            "Requested token count exceeds the model's maximum context length of 16384 tokens. You "
            "requested a total of 40000 tokens: 8000 tokens from the input messages and 32000 "
            "tokens for the completion.",
            8000,
            16384,
        ),
        (
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease "
            "input length or `max_tokens` and try again",
            188240,
            200000,
        ),
        (
            "This model's maximum context length is 4097 tokens, however you requested 5000 tokens "
            "(1000 in your prompt; 4000 for the completion).",
            1000,
            4097,
        ),
        ("Your request exceeded model token limit: 8192 (requested: 40000)", None, 8192),
        ("the model is loaded with context length of only 4096 tokens", None, 4096),
        ("too much", None, None),
    ],
)
def test_sizes_are_found_in_the_words_of_servers(
    words: str, prompt: int | None, window: int | None
) -> None:
    assert sizes_in(words) == (prompt, window)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "maximum context length is 8192 tokens and your request has 9000 input tokens",
            "prompt is too long: 9000 tokens > 8192 maximum",
        ),
        ("context overflow", "prompt is too long: 700 tokens > 699 maximum"),
        ("context length of only 4096", "prompt is too long: 4097 tokens > 4096 maximum"),
    ],
)
def test_a_full_context_is_said_in_the_words_that_start_a_summary(words: str, said: str) -> None:
    assert message_of(UpstreamRefused(words, status=400, code=FULL), (), 700) == said


def test_details_are_not_for_every_code() -> None:
    client: Any = message(max_tokens=...)
    assert client.json["error"] == {
        "type": "invalid_request_error",
        "message": "max_tokens: Field required",
    }
