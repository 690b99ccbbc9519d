"""Encodes the body of an OpenAI-compatible `/completions`: a prompt instead of messages.

Parameters that only chat has (log-probabilities in chat form, reasoning effort, ...) are not sent.
`response_format` is sent to servers that support it here, in their form.
"""

from collections.abc import Callable, Mapping
from math import inf
from typing import TypeGuard

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from toolwire.backends.base import BackendRequest
from toolwire.backends.dialects import ConstraintKind, Dialect
from toolwire.backends.openai.params import (
    CONSTRAINTS,
    Params,
    constrain,
    encode_format,
    forwarded,
    keep_special_tokens,
    wire_params,
)
from toolwire.protocol.sampling import ResponseFormat

_encode = msgspec.json.Encoder().encode
_OF_CHAT = (
    "audio", "chat_template_kwargs", "enable_thinking", "include_reasoning", "logprobs", "messages",
    "metadata", "modalities", "moderation", "parallel_tool_calls", "prediction",
    "prompt_cache_options", "prompt_mode", "provider", "reasoning", "reasoning_effort",
    "response_format", "safe_prompt", "safety_identifier", "separate_reasoning", "service_tier",
    "session_id", "store", "stream_reasoning", "thinking", "thinking_token_budget", "tool_choice",
    "tools", "top_logprobs", "verbosity", "web_search_options",
)  # fmt: skip
_LIMIT, _STOP, _FORMAT = "max_tokens", "stop", "response_format"
_RENAMES = {"max_completion_tokens": _LIMIT, _LIMIT: _LIMIT}


class _Server(msgspec.Struct, frozen=True):
    """What a kind of server accepts on this endpoint.

    `unlimited`: the token limit that means none. Without a limit, most stop after 16 tokens.
    `form`: encodes the client's `response_format` for this server; None if it is unsupported.
    `constrains`: whether it can enforce a JSON Schema. `stops`: the most stop sequences.
    """

    unlimited: int | None = 4096
    stops: float = 4
    encode_format: Callable[[ResponseFormat], tuple[str, bytes]] | None = None
    constrains: bool = False


def _as_sent(wanted: ResponseFormat) -> tuple[str, bytes]:
    return _FORMAT, encode_format(wanted)


def _as_schema(wanted: ResponseFormat) -> tuple[str, bytes]:
    return "json_schema", wanted.json_schema


_SERVERS = {
    "vllm": _Server(None, inf, _as_sent, constrains=True),
    "llamacpp": _Server(-1, inf, _as_schema, constrains=True),
    "sglang": _Server(stops=inf, encode_format=_as_sent, constrains=True),
}
_CONSTRAINTS: Mapping[ConstraintKind, tuple[str, bytes]] = {
    **CONSTRAINTS,
    "grammar": ("json_schema", b"%b"),
}
_ANY = _Server()


def completions_dialect(dialect: Dialect) -> Dialect:
    """Return the dialect for the server's `/completions`."""
    server = _SERVERS.get(dialect.name, _ANY)
    params = dialect.params.difference(_OF_CHAT)
    if server.encode_format is not None:
        params |= dialect.params & {_FORMAT}
    constraint = dialect.constraint if server.constrains else "none"
    renames = {**dialect.renames, **_RENAMES}
    return replace(
        dialect, params=params, renames=renames, constraint=constraint, thinking="rendered"
    )


def encode_completion(
    outgoing: BackendRequest, prompt: str, dialect: Dialect, model: str | None, *, stop: str = ""
) -> bytes:
    """Return the body. `stop` is the template's end of a turn."""
    request = outgoing.request
    server = _SERVERS.get(dialect.name, _ANY)
    params = forwarded(wire_params(request), dialect)
    params.pop(_FORMAT, None)
    if _LIMIT in dialect.params:
        params.setdefault(_LIMIT, server.unlimited)
    if _STOP in dialect.params:
        _end_turn(params, stop, server.stops)
    if outgoing.constraint is not None and dialect.constraint != "none":
        constrain(params, _CONSTRAINTS[dialect.constraint], outgoing.constraint.schema)
    elif (
        server.encode_format is not None
        and _FORMAT in dialect.params
        and _is_format(request.response_format)
    ):
        name, json = server.encode_format(request.response_format)
        params[name] = Raw(json)
    if outgoing.keep_special_tokens and dialect.strips_special_tokens:
        keep_special_tokens(params)
    params = {"model": model or request.model, "prompt": prompt, **params}
    params["stream"] = request.stream
    if request.stream and request.include_usage and "stream_options" in dialect.params:
        params["stream_options"] = {"include_usage": True}
    return _encode(params)


def _is_format(wanted: ResponseFormat | None) -> TypeGuard[ResponseFormat]:
    """Whether the client requested JSON."""
    return wanted is not None and wanted.kind != "text"


def _end_turn(params: Params, end: str, most: float) -> None:
    """Add the end of a turn to the client's stops, if the server accepts one more."""
    stops = [*params.get(_STOP, ())]
    if end and end not in stops and len(stops) < most:
        params[_STOP] = [*stops, end]
