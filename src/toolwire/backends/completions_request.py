"""Our nouns -> the body of an OpenAI-compatible `/completions`: a prompt instead of messages.

What a chat has and a completion has not (log-probabilities in chat's form, reasoning effort, ...)
is not sent. What text may look like is, to servers that take it here, in the form they take.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import msgspec

from toolwire.backends.base import Outgoing
from toolwire.backends.dialects import Constraint, Dialect
from toolwire.backends.openai_request import CONSTRAINTS

_encode = msgspec.json.Encoder().encode
_OF_CHAT = (
    "audio", "include_reasoning", "logprobs", "messages", "metadata", "modalities", "moderation",
    "parallel_tool_calls", "prediction", "prompt_cache_options", "prompt_mode", "provider",
    "reasoning", "reasoning_effort", "response_format", "safe_prompt", "safety_identifier",
    "separate_reasoning", "service_tier", "session_id", "store", "stream_reasoning", "thinking",
    "thinking_token_budget", "tool_choice", "tools", "top_logprobs", "verbosity",
    "web_search_options",
)  # fmt: skip
_LIMIT, _STOP, _FORM = "max_tokens", "stop", "response_format"
_RENAMES = {"max_completion_tokens": _LIMIT, _LIMIT: _LIMIT}


@dataclass(frozen=True, slots=True)
class _Server:
    """What a kind of server takes here.

    `unlimited`: the token limit that is none. Without one, most stop after 16 tokens. `form`: the
    client's `response_format` in this server's own words; None if it takes no such thing.
    `constrains`: whether it can be held to a JSON Schema. `stops`: how many it takes.
    """

    unlimited: bytes = b"4096"
    stops: float = 4
    form: Callable[[bytes], tuple[str, bytes]] | None = None
    constrains: bool = False


class _Wanted(msgspec.Struct):
    type: Any = None


_decode_wanted = msgspec.json.Decoder(_Wanted | None).decode


def _as_sent(wanted: bytes) -> tuple[str, bytes]:
    return _FORM, wanted


def _as_schema(wanted: bytes) -> tuple[str, bytes]:
    schema = (msgspec.json.decode(wanted).get("json_schema") or {}).get("schema")
    return "json_schema", _encode(schema if isinstance(schema, dict) else {"type": "object"})


_SERVERS = {
    "vllm": _Server(b"null", inf, _as_sent, constrains=True),
    "llamacpp": _Server(b"-1", inf, _as_schema, constrains=True),
    "sglang": _Server(stops=inf, form=_as_sent, constrains=True),
}
_CONSTRAINTS: Mapping[Constraint, tuple[str, bytes]] = {
    **CONSTRAINTS,
    "grammar": ("json_schema", b"%b"),
}
_ANY = _Server()


def completions_dialect(dialect: Dialect) -> Dialect:
    """The dialect as the server speaks it where it takes prompts."""
    server = _SERVERS.get(dialect.name, _ANY)
    params = dialect.params.difference(_OF_CHAT)
    if server.form is not None:
        params |= dialect.params & {_FORM}
    constraint = dialect.constraint if server.constrains else "none"
    renames = {**dialect.renames, **_RENAMES}
    return replace(dialect, params=params, renames=renames, constraint=constraint)


def encode_completion(
    outgoing: Outgoing, prompt: str, dialect: Dialect, model: str | None, *, stop: str = ""
) -> bytes:
    """The body to send. `stop` is what ends a turn, in the words of the template."""
    request = outgoing.request
    server = _SERVERS.get(dialect.name, _ANY)
    params = {dialect.forwarded_as(name): raw for name, raw in request.params.items()}
    wanted = params.pop(_FORM, b"null")
    if _LIMIT in dialect.params:
        params.setdefault(_LIMIT, server.unlimited)
    if _STOP in dialect.params:
        params |= _stops(params.pop(_STOP, b"null"), stop, server.stops)
    if outgoing.schema and dialect.constraint != "none":
        name, form = _CONSTRAINTS[dialect.constraint]
        params[name] = form % outgoing.schema
    elif server.form is not None and _is_form(wanted):
        name, value = server.form(wanted)
        params[name] = value
    if outgoing.keep_special_tokens and dialect.strips_special_tokens:
        params["skip_special_tokens"] = b"false"
        params["spaces_between_special_tokens"] = b"false"
    fields = [b'{"model":' + _encode(model or request.model), b'"prompt":' + _encode(prompt)]
    fields += [_encode(name) + b":" + raw for name, raw in params.items() if name is not None]
    fields.append(b'"stream":true' if request.stream else b'"stream":false')
    if request.stream and request.include_usage and "stream_options" in dialect.params:
        fields.append(b'"stream_options":{"include_usage":true}')
    return b",".join(fields) + b"}"


def _is_form(wanted: bytes) -> bool:
    """Whether the client wants text in a form. Nothing else is read: the form may be long."""
    read = _decode_wanted(wanted)
    return read is not None and read.type not in (None, "text")


def _stops(given: bytes, end: str, most: float) -> dict[str | None, bytes]:
    """The client's stops, and the end of a turn if there is room: not every server knows it."""
    wanted = msgspec.json.decode(given) or []
    stops = [wanted] if isinstance(wanted, str) else list(wanted)
    if end and end not in stops and len(stops) < most:
        stops.append(end)
    return {_STOP: _encode(stops)} if stops else {}
