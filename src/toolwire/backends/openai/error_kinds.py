"""Classifies a server's error by its wording, with a table of patterns.

Clients act on OpenAI's codes (they compact the conversation, wait, or tell the user), but every
server words the same failure differently. Patterns are matched against the error's message,
type and code, in lower case.
"""

import re
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import msgspec

from toolwire.backends.base import Redact
from toolwire.errors import UpstreamError, UpstreamRefused, UpstreamUnavailable
from toolwire.protocol.json_numbers import decode_any

_LONGEST = 200
ErrorKind: TypeAlias = Literal["context_length_exceeded", "content_filter", "rate_limit_exceeded"]

_FULL_CONTEXT = (
    r"context_length_exceeded",
    r"exceed_context_size",  # llama.cpp
    r"maximum context length",  # OpenAI, vLLM, SGLang, OpenRouter, DeepSeek, Mistral, Ollama
    r"model'?s context length",  # vLLM, SGLang
    r"context length is only",  # vLLM
    r"maximum model length",  # vLLM
    r"too long to fit into the model",  # vLLM
    r"cannot be greater than max_model_len",  # vLLM
    r"input length \(\d+ tokens\) exceeds the maximum allowed length",  # SGLang
    r"available context size",  # llama.cpp
    r"exceeds? (?:the |this |model'?s? |max(?:imum)? )*context (?:window|length|size|limit)",
    r"context (?:window|length|size|limit) (?:is |was |has been )?(?:full|exceeded|exceeds)",
    r"exceeded max context length",  # Ollama
    r"context the overflows",  # LM Studio, verbatim
    r"context overflow",
    r"(?:greater|larger) than the (?:model'?s? )?context length",  # LM Studio
    r"reached context length of",  # LM Studio
    r"n_keep.{0,20}n_ctx",  # LM Studio
    r"max_new_tokens`? must be <=",  # TGI
    r"`?inputs`? must have less than \d+ tokens",  # TGI
    r"too large for model with \d+",  # Mistral
    r"prompt (?:is |tokens )?too long",  # Anthropic, Ollama, Baidu
    r"prompt exceeds max length",  # Z.ai
    r"maximum prompt length",  # xAI
    r"exceed(?:s|ed)? (?:the )?model(?:'s)? token limit",  # Moonshot
    r"input token count.{0,40}exceeds",  # Google
    r"prompt token count.{0,40}exceeds",  # GitHub
    r"input is too long for requested model",  # Bedrock
    r"input length should be",  # DashScope
    r"reduce the length of the (?:messages|prompt|input)",  # OpenAI, Groq, Cerebras
    r"reduce your message size",  # Groq: more tokens than it takes in a minute
    r"number of tokens in the prompt cannot exceed",  # Cohere
    r"too many tokens: size limit exceeded",  # Cohere
    r"context window exceeds",  # MiniMax
    r"input_?length_?error",  # LMDeploy
    r"context shift is disabled",  # llama.cpp: full in mid-answer
    r"(?:greater than|exceeds?) max_seq_len",  # TabbyAPI
    r"max_tokens must be at least 1, got -",  # vLLM, before it named the context
    r"exceed max message tokens",  # Volcengine Ark
    r"input tokens exceed the configured limit",  # OpenAI
)
_FILTER = (
    r"content_?filter",
    r"content filtering policy",  # Anthropic
    r"content_policy_violation",
    r"violat(?:es|ing) (?:our )?usage (?:guidelines|policy)",  # xAI, OpenAI
    r"responsibleaipolicyviolation",
    r"content management policy",  # Azure
    r"rejected as a result of our safety system",  # OpenAI
    r"data_?inspection_?failed",  # DashScope
    r"content exists risk",  # DeepSeek
    r"considered high risk",  # Moonshot
    r"敏感内容",  # Z.ai
    r"(?:in|out)put new_sensitive",  # MiniMax
    r"prohibited_content",  # Google
    r"input was flagged",  # OpenRouter
    r"requires moderation",  # OpenRouter
)
_RATE = (
    r"\brate_?limit\b",  # not a tool that is called get_rate_limits
    r"rate_?limit_?(?:ed|error|exceeded|reached)",
    r"rate limit (?:reached|exceeded|hit)",
    r"exceeded [^.]{0,60}rate limit",  # Azure, Anthropic
    r"rate.limited",
    r"too many requests",
    r"requests per (?:minute|second|day)",
    r"resource_exhausted|resource has been exhausted",  # Google
    r"^model is overloaded",  # TGI
    r"\bthrottl(?:ed|ing)(?:\b|e)",  # AWS: ThrottlingException
)
_RATE_CODES = (429, "429", "limit_requests", "limit_burst_rate", "engine_overloaded_error")
"""Codes and types of a rate limit within a stream, in place of the status: DashScope, Moonshot."""
_BUSY = ("overloaded_error", "server_is_overloaded", "slow_down", 503, 529)
"""Types and codes of a server that is busy: Anthropic, OpenAI, OpenRouter."""
_REFUSED = ("invalid_prompt", "bio_policy", 400, 413, 422, 2013)
"""Codes of a permanent refusal within a stream: OpenAI's Responses, vLLM, MiniMax."""
_HOLDERS = ("errors", "base_resp")
"""Where a body without `error` or a message has its error: Cloudflare, MiniMax."""
_MESSAGES = ("message", "detail", "msg", "error_msg", "status_msg")
"""Where an error has its message: OpenAI, FastAPI, Z.ai, Baidu, MiniMax."""
_CODES = ("code", "error_code", "status_code")
_KINDS: tuple[tuple[ErrorKind, re.Pattern[str]], ...] = (
    ("context_length_exceeded", re.compile("|".join(_FULL_CONTEXT))),
    ("content_filter", re.compile("|".join(_FILTER))),
    ("rate_limit_exceeded", re.compile("|".join(_RATE))),
)


def kind_of_error(*said: object) -> ErrorKind | None:
    """Classify an error by its message, type and code; None if it is unknown."""
    words = " ".join(part for part in said if isinstance(part, str)).casefold()
    return next((kind for kind, pattern in _KINDS if pattern.search(words)), None)


def known_refusal(kind: ErrorKind, words: str, param: str | None = None) -> UpstreamError:
    """Return OpenAI's error of this kind: its status, type and code, with the server's message."""
    if kind == "rate_limit_exceeded":
        return UpstreamUnavailable(words, rate_limited=True)
    error = UpstreamRefused(words, status=400, param=param, code=kind)
    error.own_type = "invalid_request_error"
    return error


def reported_error(error: object, redact: Redact) -> UpstreamError:
    """Translate an error that a server reports within its answer."""
    words = redact(error_text(error or ""), 500).strip() or "The backend reported an error."
    fields = error if isinstance(error, dict) else {}
    own_type, code = fields.get("type"), _first(fields, _CODES)
    kind = kind_of_error(words, own_type, code)
    if kind is None and (code in _RATE_CODES or own_type in _RATE_CODES):
        kind = "rate_limit_exceeded"
    if kind is not None:
        return known_refusal(kind, words)
    if own_type in _BUSY or code in _BUSY:
        return UpstreamUnavailable(words)
    failure = UpstreamError(words, code=own_word(code, redact))
    if code in _REFUSED:
        failure = UpstreamRefused(words, status=400, code=own_word(code, redact))
    failure.own_type = own_word(own_type, redact)
    return failure


def error_of(body: object) -> object:
    """Return the error in the body of an error response."""
    if not isinstance(body, dict):
        return body
    if body.get("error"):
        return body["error"]
    found = None if _first(body, _MESSAGES) else _first(body, _HOLDERS)
    first = found[0] if isinstance(found, list) else found
    named = isinstance(first, str) or (isinstance(first, dict) and _first(first, _MESSAGES))
    return first if named else body


def unnamed_error(body: object) -> object:
    """Return the error in the body of an answer that does not call it `error`; None if there is
    none."""
    if not isinstance(body, dict):
        return None
    base = body.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):
        return base  # MiniMax
    failed = body.get("object") == "error" or body.get("success") is False
    # vLLM before 0.10, Z.ai and Cloudflare, Baidu
    return error_of(body) if failed or body.get("error_msg") else None


def error_text(error: object) -> str:
    """Return the message of an `error`, which is a string on some backends."""
    about: object = None
    if isinstance(error, dict):
        about = error.get("metadata")
        error = _first(error, _MESSAGES) or ""
    text = error if isinstance(error, str) else str(error)
    cause = _cause(about.get("raw")) if isinstance(about, dict) else ""
    return f"{text}: {cause}" if cause and cause not in text else text


def _cause(raw: object) -> str:
    """Return what a router's own backend said (OpenRouter), as JSON or as text."""
    if not isinstance(raw, str):
        return ""
    try:
        said = decode_any(raw)
    except (msgspec.DecodeError, RecursionError):
        return raw
    error = error_of(said)
    nested = _first(error, _MESSAGES) if isinstance(error, dict) else error
    return nested if isinstance(nested, str) else raw


def _first(fields: dict[str, Any], names: Iterable[str]) -> Any:
    """Return the first of these fields that has a value."""
    return next((fields[name] for name in names if fields.get(name)), None)


def own_word(value: object, redact: Redact) -> str | None:
    """Return a server's own error type or code, if it is a word that can be forwarded."""
    if not isinstance(value, str) or not value.strip():
        return None
    return redact(value.strip(), _LONGEST)
