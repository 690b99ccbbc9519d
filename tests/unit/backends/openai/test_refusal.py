"""What servers say about the failures that clients act on, each in its own words."""

import json
from typing import Any

import pytest

from toolwire.backends.base import clip
from toolwire.backends.http import Head
from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.backends.openai.refusal import refusal
from toolwire.errors import KeyRefused, UpstreamError, UpstreamRefused, UpstreamUnavailable
from toolwire.gateway.strategies.native import NATIVE
from toolwire.surfaces.base import error_headers
from toolwire.surfaces.openai_error import error_type


def refused(status: int, error: Any) -> UpstreamError:
    """What an error answer becomes."""
    return refusal("b", Head(status, {}), json.dumps({"error": error}).encode(), clip)


FULL_CONTEXT = {
    "OpenAI": (400, {"message": "This model's maximum context length is 8192 tokens. However, your "
        "messages resulted in 9000 tokens.", "type": "invalid_request_error"}),
    "OpenAI, newer": (400, "Your input exceeds the context window of this model. Please adjust."),
    "vLLM": (400, {"message": "This model's maximum context length is 4096 tokens. However, you "
        "requested 5000 tokens", "type": "BadRequestError", "code": 400}),
    "vLLM, prompt": (400, {"message": "The decoder prompt (length 5000) is longer than the maximum "
        "model length of 4096.", "type": "BadRequestError", "code": 400}),
    "vLLM, newer": (400, {"message": "You passed 5000 input tokens and requested 10 output tokens. "
        "However, the model's context length is only 4096 tokens", "code": 400}),
    "vLLM, images": (400, {"message": "The prompt (total length 25938) is too long to fit into the "
        "model (context length 4096).", "type": "BadRequestError", "code": 400}),
    "vLLM, limit": (400, {"message": "max_tokens=9000 cannot be greater than max_model_len="
        "max_total_tokens=4096. Please request fewer output tokens.", "code": 400}),
    "SGLang, pool": (400, {"message": "Input length (160062 tokens) exceeds the maximum allowed "
        "length (59862 tokens). Use a shorter input.", "code": 400}),
    "SGLang": (400, {"message": "The input (5000 tokens) is longer than the model's context length "
        "(4096 tokens).", "type": "BadRequestError", "code": 400}),
    "SGLang, total": (400, {"message": "Requested token count exceeds the model's maximum context "
        "length of 4096 tokens.", "code": 400}),
    "llama.cpp": (400, {"code": 400, "message": "request (5000 tokens) exceeds the available "
        "context size (4096 tokens), try increasing it", "type": "exceed_context_size_error",
        "n_prompt_tokens": 5000, "n_ctx": 4096}),
    "llama.cpp, older": (500, {"code": 500, "message": "the request exceeds the available context "
        "size. try increasing the context size", "type": "server_error"}),
    "llama.cpp, in mid-answer": (500, {"code": 500, "message": "context shift is disabled",
        "type": "server_error"}),
    "TabbyAPI": (422, "Prompt length 5000 is greater than max_seq_len 4096"),
    "llama-cpp-python": (400, "Requested tokens (516) exceed context window of 512"),
    "Ollama": (400, {"message": "input length exceeds maximum context length"}),
    "Ollama, newer": (400, "prompt too long; exceeded max context length by 904 tokens"),
    "LM Studio": (400, "Trying to keep the first 5000 tokens when context the overflows. However, "
        "the model is loaded with context length of only 4096 tokens"),
    "LM Studio, keep": (400, "The number of tokens to keep from the initial prompt is greater than "
        "the context length."),
    "LM Studio, n_keep": (400, "Cannot truncate prompt with n_keep (9000) >= n_ctx (8192)"),
    "LM Studio, engine": (400, "Context size has been exceeded."),
    "TGI": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. "
        "Given: 5000 `inputs` tokens and 20 `max_new_tokens`"),
    "TGI, input": (422, "Input validation error: `inputs` must have less than 1024 tokens."),
    "OpenRouter": (400, {"message": "This endpoint's maximum context length is 131072 tokens. "
        "However, you requested about 132463 tokens", "code": 400}),
    "OpenRouter, of its backend": (400, {"message": "Provider returned error", "code": 400,
        "metadata": {"provider_name": "x", "raw": '{"error": {"message": "This model\'s maximum '
        'context length is 4096 tokens."}}'}}),
    "OpenRouter, in text": (400, {"message": "Provider returned error", "code": 400,
        "metadata": {"raw": "prompt is too long: 5000 tokens > 4096 maximum"}}),
    "Cohere": (400, "too many tokens: size limit exceeded by 200 tokens. Try shorter inputs."),
    "MiniMax": (400, "invalid params, context window exceeds limit (2013)"),
    "Groq, a minute's tokens": (413, {"message": "Request too large for model `x` on tokens per "
        "minute (TPM): Limit 6000, Requested 7000, please reduce your message size and try again.",
        "type": "tokens", "code": "rate_limit_exceeded"}),
    "Mistral": (400, {"message": "Prompt contains 40000 tokens and 0 draft tokens, too large for "
        "model with 32768 maximum context length", "code": "3051"}),
    "Anthropic": (400, "prompt is too long: 213462 tokens > 200000 maximum"),
    "Google": (400, "The input token count (1196265) exceeds the maximum number of tokens allowed"),
    "xAI": (400, "This model's maximum prompt length is 131072 but the request contains 537812."),
    "Moonshot": (400, "Invalid request: Your request exceeded model token limit: 8192"),
    "DashScope": (400, {"message": "<400> InternalError.Algo.InvalidParameter: Range of input "
        "length should be [1, 30720]", "code": "invalid_parameter_error"}),
    "vLLM, older": (400, {"message": "max_tokens must be at least 1, got -200.", "code": 400}),
    "Volcengine Ark": (400, {"message": "Total tokens of image and text exceed max message tokens. "
        "Request id: 021", "code": "InvalidParameter", "type": "BadRequest"}),
    "OpenAI, input": (400, "Input tokens exceed the configured limit of 272000 tokens."),
    "a maximum": (400, "Prompt length (9000) exceeds maximum context window"),
    "max_seq_len": (400, "prompt tokens (9000) exceed max_seq_len (8192)"),
    "larger": (400, "the request is larger than the model context length"),
    "Baidu": (400, "Prompt tokens too long"),
    "Groq": (400, {"message": "Please reduce the length of the messages or completion.",
        "code": "context_length_exceeded"}),
}  # fmt: skip


@pytest.mark.parametrize("server", FULL_CONTEXT)
def test_a_full_context_has_openais_code_whatever_the_server_calls_it(server: str) -> None:
    error = refused(*FULL_CONTEXT[server])
    assert isinstance(error, UpstreamRefused)
    assert (error.status, error.code) == (400, "context_length_exceeded")
    assert error_type(error) == "invalid_request_error"
    assert not error.retryable


@pytest.mark.parametrize("server", FULL_CONTEXT)
def test_in_a_stream_too(server: str) -> None:
    decoder = AnswerDecoder(streamed=True, max_line=1 << 20)
    event = b"data: " + json.dumps({"error": FULL_CONTEXT[server][1]}).encode() + b"\n\n"
    with pytest.raises(UpstreamError) as caught:
        decoder.feed(event)
    assert (caught.value.status, caught.value.code) == (400, "context_length_exceeded")


@pytest.mark.parametrize(
    "body",
    [
        {"success": False, "errors": [{"code": 5, "message": "Boom."}], "result": None},
        {"errors": ["Boom."]},
        {"message": "Boom.", "errors": [{"message": "Another."}]},
        {"code": 500, "msg": "Boom.", "success": False},
        {"error_code": 336003, "error_msg": "Boom."},
        {"base_resp": {"status_code": 2013, "status_msg": "Boom."}},
        {"error": None, "detail": "Boom."},
    ],
)
def test_a_message_is_found_where_the_server_has_it(body: dict[str, Any]) -> None:
    found = refusal("b", Head(400, {}), json.dumps(body).encode(), clip)
    assert found.message == "Boom."


def test_without_a_message_the_body_is_shown() -> None:
    assert refused(400, {"reason": "odd"}).message == '{"error": {"reason": "odd"}}'
    assert refusal("b", Head(400, {}), b'{"reason": "odd"}', clip).message == '{"reason": "odd"}'
    listed = refused(422, [{"loc": ["body", "tools"], "msg": "Not permitted"}])
    assert "tools" in listed.message, "its place is part of the message"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"base_resp": {"status_code": 2013, "status_msg": "context window exceeds limit"}}, 400,
            "context_length_exceeded"),
        ({"usage": {"prompt_tokens": 0}, "base_resp": {"status_code": 2013, "status_msg": "No."}},
            400, "upstream_error"),
        ({"base_resp": {"status_code": 1004, "status_msg": "login fail"}}, 502, "upstream_error"),
        ({"success": False, "code": 500, "msg": "404 NOT_FOUND"}, 502, "upstream_error"),
        ({"error_code": 336103, "error_msg": "Prompt tokens too long"}, 400,
            "context_length_exceeded"),
    ],
)  # fmt: skip
def test_an_answer_may_be_an_error_that_is_not_called_one(
    body: dict[str, Any], status: int, code: str
) -> None:
    decoder = AnswerDecoder(streamed=False, max_line=1 << 20)
    decoder.feed(json.dumps({"choices": None, **body}).encode())
    with pytest.raises(UpstreamError) as caught:
        decoder.finish()
    assert (caught.value.status, caught.value.code) == (status, code)


@pytest.mark.parametrize("base", [None, {"status_code": 0, "status_msg": ""}])
def test_an_answer_that_says_that_there_is_no_error_is_one(base: Any) -> None:
    decoder = AnswerDecoder(streamed=True, max_line=1 << 20)
    usage = {"usage": {"prompt_tokens": 3, "completion_tokens": 1}, "base_resp": base}
    (fragment,) = decoder.feed(b"data: " + json.dumps(usage).encode() + b"\n\n")
    assert fragment.usage is not None


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "The response was filtered due to the prompt triggering Azure OpenAI's "
            "content management policy.", "code": "content_filter"}),
        (400, {"message": "Your request was rejected as a result of our safety system."}),
        (400, {"message": "Input data may contain it.", "code": "data_inspection_failed"}),
        (400, {"message": "Content Exists Risk"}),
        (403, {"message": "x requires moderation on y. Your input was flagged for \"z\"."}),
        (400, {"message": "No.", "type": "content_filter"}),
        (400, {"message": "Output blocked by content filtering policy"}),
        (403, "Content violates usage guidelines. Model: x, Failed check: SAFETY_CHECK_TYPE_BIO"),
        (400, {"message": "Invalid prompt: your prompt was flagged as potentially violating our "
            "usage policy.", "code": "invalid_prompt"}),
        (400, {"message": "系统检测到输入或生成内容可能包含不安全或敏感内容", "code": "1301"}),
        (400, {"message": "input new_sensitive", "code": "1026"}),
    ],
)  # fmt: skip
def test_what_a_content_filter_stops_has_its_code(status: int, error: Any) -> None:
    found = refused(status, error)
    assert (found.status, found.code, found.retryable) == (400, "content_filter", False)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"message": "Slow down."}),
        (400, {"message": "Rate limit reached for requests"}),
        (500, {"message": "Requests have exceeded token rate limit of your current tier."}),
        (403, {"message": "Too Many Requests"}),
        (503, {"message": "x", "type": "rate_limit_error"}),
        (500, {"message": "x", "code": "rate_limit_exceeded"}),
        (400, {"message": "x", "status": "RESOURCE_EXHAUSTED", "type": "RESOURCE_EXHAUSTED"}),
    ],
)
def test_a_rate_limit_is_one_whatever_its_status(status: int, error: Any) -> None:
    found = refused(status, error)
    assert isinstance(found, UpstreamUnavailable)
    assert (found.status, found.code, found.retryable) == (429, "rate_limit_exceeded", True)


@pytest.mark.parametrize("name", ["get_rate_limits", "rate_limiter", "throttling_config"])
def test_the_name_of_a_tool_is_no_rate_limit(name: str) -> None:
    error = {"message": f"Invalid schema for function '{name}': 'x' is not valid."}
    found = refused(400, error)
    assert type(found) is UpstreamRefused
    assert (found.status, found.retryable) == (400, False)


def test_a_key_that_breaks_a_policy_is_refused_not_filtered() -> None:
    error = {"message": "This key was disabled for violating our usage policy."}
    assert isinstance(refused(401, error), KeyRefused)


def test_what_the_backend_of_a_router_said_is_shown() -> None:
    raw = '{"error": {"message": "At most 1 image per prompt."}}'
    found = refused(400, {"message": "Provider returned error", "metadata": {"raw": raw}})
    assert found.message == "Provider returned error: At most 1 image per prompt."
    assert refused(400, {"message": "Provider returned error", "metadata": {"raw": "[]"}}).message


@pytest.mark.parametrize("status", [400, 422, 500])
def test_an_unknown_error_keeps_its_own_type_and_code(status: int) -> None:
    found = refused(status, {"message": "x", "type": "odd_error", "code": "odd_code"})
    assert (error_type(found), found.code) == ("odd_error", "odd_code")


def test_a_code_that_is_a_number_is_none_of_openais() -> None:
    found = refused(400, {"message": "x", "type": "BadRequestError", "code": 400})
    assert (error_type(found), found.code) == ("BadRequestError", "upstream_error")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_no_error_that_clients_retry(status: int) -> None:
    found = refused(status, {"message": "User not found", "code": "x"})
    assert isinstance(found, KeyRefused)
    assert (found.status, found.code, found.elsewhere) == (status, "upstream_key_refused", True)
    assert ("x-should-retry", "false") in error_headers(found)
    assert "User not found. Set the right one" in found.message


def test_an_empty_account_is_not_asked_again_by_anybody() -> None:
    found = refused(429, {"message": "No credit.", "code": "insufficient_quota"})
    assert ("x-should-retry", "false") in error_headers(found)
    assert not found.retryable


def test_an_error_that_may_pass_says_nothing_about_retries() -> None:
    assert "x-should-retry" not in dict(error_headers(refused(500, "x")))
    assert "x-should-retry" not in dict(error_headers(refused(429, "x")))


@pytest.mark.parametrize(
    ("status", "ours"), [(500, 502), (502, 502), (504, 502), (501, 502), (503, 503), (529, 503)]
)
def test_a_backend_that_fails_is_502_and_one_that_is_busy_503(status: int, ours: int) -> None:
    assert refused(status, "x").status == ours


def test_what_a_server_does_not_implement_is_not_asked_for_again() -> None:
    assert not refused(501, "x").retryable


def test_a_message_may_begin_with_a_status_in_angle_brackets() -> None:
    """As DashScope's do."""
    words = "<400> InternalError.Algo.InvalidParameter: The tool call is not supported."
    found = refused(400, {"message": words, "code": "invalid_parameter_error"})
    assert found.message == words
    assert NATIVE.lack(found) == "tools"


@pytest.mark.parametrize("page", ["<!DOCTYPE html><p>Bad</p>", "<html>Bad</html>"])
def test_a_page_is_no_message(page: str) -> None:
    for body in (page, json.dumps({"error": {"message": page}})):
        found = refusal("b", Head(400, {}), body.encode(), clip)
        assert found.message == "The backend 'b' refused the request (400)."
