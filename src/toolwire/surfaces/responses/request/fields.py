"""The request fields, except the conversation and its tools: one table that says how each is
handled. The table in the documentation is generated from it.

A value of the wrong type is an error that names the field. Unknown names are never an error. They
are reported, and not forwarded, since a backend might not know them. `null` means "not given".
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Raw

from toolwire.backends.openai.parts import WIRE as CHAT_WIRE
from toolwire.backends.responses.request import WIRE
from toolwire.errors import RequestError
from toolwire.protocol.content import WireJson
from toolwire.protocol.requests import Request, WireRequest
from toolwire.protocol.sampling import (
    DEFAULT_SAMPLING,
    FormatKind,
    ResponseFormat,
    SamplingParams,
)
from toolwire.surfaces.explain import bad_value, check_name, check_nesting, decode, missing
from toolwire.surfaces.json_schema import check_answer_schema

Use: TypeAlias = Literal["honoured", "translated", "ignored", "refused"]
LOGPROBS = "message.output_text.logprobs"
ENCRYPTED = "reasoning.encrypted_content"
_encode = msgspec.json.Encoder().encode


class _Format(msgspec.Struct):
    type: str
    name: str | None = None
    schema: Any = None
    strict: bool | None = None
    description: str | None = None


class _Text(msgspec.Struct):
    format: _Format | None = None
    verbosity: str | None = None


class _Reasoning(msgspec.Struct):
    effort: str | None = None
    summary: str | None = None
    generate_summary: str | None = None
    context: Any = None
    mode: Any = None


class FieldRule(msgspec.Struct, frozen=True):
    """How one field is handled."""

    use: Use
    about: str
    type: Any = None
    """The type of its value; None means any."""
    sent_as: str = ""
    """Its name in chat completions, if it is forwarded unchanged."""


_String = str | None
FIELDS: dict[str, FieldRule] = {
    "model": FieldRule("honoured", "picks the route, as on chat completions", str),
    "input": FieldRule("translated", "becomes messages: see the items below"),
    "instructions": FieldRule("translated", "the first system message", _String),
    "stream": FieldRule("honoured", "server-sent events", bool | None),
    "stream_options": FieldRule("honoured", "`obfuscation` is never sent", dict[str, Any] | None),
    "tools": FieldRule("translated", "become functions: see the tools below"),
    "tool_choice": FieldRule("translated", "all forms that name tools a client runs"),
    "parallel_tool_calls": FieldRule("translated", "`false`: one call a turn", bool | None),
    "max_tool_calls": FieldRule(
        "ignored", "limits calls of tools that the provider runs", int | None
    ),
    "max_output_tokens": FieldRule(
        "translated", "`max_completion_tokens`", Annotated[int, Meta(ge=1)] | None
    ),
    "temperature": FieldRule(
        "translated", "sent only if given", Annotated[float, Meta(ge=0, le=2)] | None
    ),
    "top_p": FieldRule(
        "translated", "sent only if given", Annotated[float, Meta(ge=0, le=1)] | None
    ),
    "top_logprobs": FieldRule(
        "translated",
        f"with `include: [{LOGPROBS}]`; ignored without it",
        Annotated[int, Meta(ge=0, le=20)] | None,
    ),
    "text": FieldRule("translated", "`format`: `response_format`; `verbosity`", _Text | None),
    "reasoning": FieldRule(
        "translated",
        "`effort`: `reasoning_effort`; reasoning is always given as the summary; `context` and "
        "`mode` are ignored",
        _Reasoning | None,
    ),
    "include": FieldRule(
        "honoured", f"`{ENCRYPTED}` and `{LOGPROBS}`; others are ignored", list[str] | None
    ),
    "store": FieldRule("honoured", "`false` where there is no store", bool | None),
    "previous_response_id": FieldRule("honoured", "refused where there is no store", _String),
    "conversation": FieldRule("refused", "there are no conversations: `previous_response_id`"),
    "background": FieldRule("refused", "`true` only", bool | None),
    "prompt": FieldRule("refused", "there are no templates: send the text"),
    "context_management": FieldRule("ignored", "history is never dropped"),
    "truncation": FieldRule("ignored", "`auto`: too long a conversation is an error", _String),
    "metadata": FieldRule(
        "honoured", "echoed and stored", Annotated[dict[str, str], Meta(max_length=16)] | None
    ),
    "prompt_cache_key": FieldRule("translated", "forwarded", _String, "prompt_cache_key"),
    "prompt_cache_retention": FieldRule(
        "translated", "forwarded", _String, "prompt_cache_retention"
    ),
    "safety_identifier": FieldRule("translated", "forwarded", _String, "safety_identifier"),
    "user": FieldRule("translated", "forwarded", _String, "user"),
    "service_tier": FieldRule("translated", "forwarded", _String, "service_tier"),
    "client_metadata": FieldRule("ignored", "Codex sends it"),
    "prompt_cache_options": FieldRule("ignored", "never forwarded"),
    "moderation": FieldRule("ignored", "never forwarded"),
    "access_programs": FieldRule("ignored", "never forwarded"),
    "image": FieldRule("ignored", "never forwarded"),
}
REPORTED_AS = {
    "max_completion_tokens": "max_output_tokens",
    "max_tokens": "max_output_tokens",
    "response_format": "text.format",
    "verbosity": "text.verbosity",
    "reasoning_effort": "reasoning.effort",
    "logprobs": f"include:{LOGPROBS}",
    "reasoning_content": "reasoning",
}
"""This API's names for parameters that were dropped for a backend."""

OWN = frozenset(
    {"include", "reasoning", "truncation", "max_tool_calls", "metadata", "context_management"}
    | {"prompt_cache_options", "moderation", "client_metadata"}
)
"""Fields that a backend of this API gets as they are. Others have no equivalent of them."""
_NESTED = frozenset({"stream_options", "text", "reasoning", "include", "metadata"})
"""Fields whose values are not scalars."""
_SAMPLING = frozenset(
    {"max_output_tokens", "temperature", "top_p", "top_logprobs", "include", "reasoning"}
)
"""Fields with sampling parameters."""
_DETAILED = frozenset({"include", "top_logprobs", "reasoning"})
"""Fields that are known, but not supported in every part."""
_REFUSED = frozenset(name for name, rule in FIELDS.items() if rule.use == "refused")
_IGNORED = frozenset(name for name, rule in FIELDS.items() if rule.use == "ignored")
_SENT = frozenset(name for name, rule in FIELDS.items() if rule.sent_as)
_DECODERS = {
    name: msgspec.json.Decoder(rule.type) for name, rule in FIELDS.items() if rule.type is not None
}
_KINDS: dict[str, FormatKind] = {
    "text": "text",
    "json_object": "json_object",
    "json_schema": "json_schema",
}
_INSTEAD = {
    "conversation": "Send 'previous_response_id', or the whole conversation in 'input'.",
    "prompt": "Send its text in 'instructions' and 'input'.",
    "background": "Leave it out, or send false.",
}


class ResponsesParams(msgspec.Struct):
    """The decoded fields of one request."""

    raws: dict[str, Raw]
    values: dict[str, Any] = {}
    ignored: list[str] = []

    def sampling(self) -> SamplingParams:
        """Return the sampling parameters that the client set."""
        values, reasoning = self.values, self.values.get("reasoning")
        if _SAMPLING.isdisjoint(values):
            return DEFAULT_SAMPLING
        logprobs = LOGPROBS in self.included
        return SamplingParams(
            max_completion_tokens=values.get("max_output_tokens"),
            temperature=values.get("temperature"),
            top_p=values.get("top_p"),
            logprobs=True if logprobs else None,
            top_logprobs=values.get("top_logprobs") if logprobs else None,
            reasoning_effort=reasoning.effort if reasoning is not None else None,
        )

    @property
    def included(self) -> list[str]:
        """The additional output that the client requested."""
        return self.values.get("include") or []

    def extras(self) -> dict[str, bytes]:
        """Return the parameters that are forwarded unchanged."""
        extras = {
            FIELDS[name].sent_as: bytes(self.raws[name]) for name in self.raws if name in _SENT
        }
        text = self.values.get("text")
        if text is not None and text.verbosity is not None:
            extras["verbosity"] = _encode(text.verbosity)
        return extras

    def with_own_fields(self, request: Request, sealed: Sequence[str]) -> Request:
        """Return the request with what only a backend of this API takes. `sealed` are places of
        reasoning that only such a backend can read."""
        if not sealed and OWN.isdisjoint(self.raws):
            return request
        fields = {name: bytes(raw) for name, raw in self.raws.items() if name in OWN}
        unused = [said for said in self.ignored if re.split("[.:]", said, maxsplit=1)[0] in OWN]
        own = (*unused, *sealed)
        ignored = tuple(said for said in request.ignored if said not in own)
        origin = WireRequest(WIRE, fields, request, ignored=own)
        return msgspec.structs.replace(request, ignored=ignored, origin=origin)

    def response_format(self) -> ResponseFormat | None:
        """Return the requested response format."""
        text = self.values.get("text")
        wanted = text.format if text is not None else None
        if wanted is None:
            return None
        if wanted.type not in _KINDS:
            words = "'text', 'json_object', and 'json_schema'"
            raise bad_value(wanted.type, "text.format.type", words)
        if wanted.type != "json_schema":
            return ResponseFormat(_KINDS[wanted.type])
        where = "text.format.schema"
        if wanted.schema is None:
            raise missing(where)
        schema = check_answer_schema(wanted.schema, where, strict=bool(wanted.strict))
        if wanted.name is not None:
            check_name(wanted.name, "text.format.name")
        inner = {
            "name": wanted.name or "answer",
            "schema": schema,
            "strict": wanted.strict,
            "description": wanted.description,
        }
        given = {name: value for name, value in inner.items() if value is not None}
        chat = _encode({"type": "json_schema", "json_schema": given})
        return ResponseFormat("json_schema", _encode(schema), WireJson(CHAT_WIRE, chat))


def read_params(fields: dict[str, Raw], depth: int) -> ResponsesParams:
    """Check the fields against the table. Raises `RequestError`."""
    params = ResponsesParams(fields)
    values = params.values
    for name, raw in fields.items():
        if name in _DECODERS:
            if name in _NESTED:
                check_nesting(bytes(raw), name, depth)
            values[name] = decode(_DECODERS[name], raw, name)
        elif name not in FIELDS:
            params.ignored.append(name)
        if name in _REFUSED and values.get(name, True):
            raise _refused(name)
        if name in _IGNORED and bytes(raw) != b'"disabled"':
            params.ignored.append(name)
    if not _DETAILED.isdisjoint(values):
        _report_details(params)
    return params


def _report_details(params: ResponsesParams) -> None:
    """Report unsupported parts of known fields."""
    known = (LOGPROBS, ENCRYPTED)
    params.ignored += [f"include:{word}" for word in params.included if word not in known]
    if params.values.get("top_logprobs") and LOGPROBS not in params.included:
        params.ignored.append("top_logprobs")
    reasoning = params.values.get("reasoning")
    if reasoning is not None:
        parts = (name for name in ("context", "mode") if getattr(reasoning, name) is not None)
        params.ignored += [f"reasoning.{name}" for name in parts]


def _refused(name: str) -> RequestError:
    return RequestError(
        f"Unsupported parameter: '{name}' is not supported. {_INSTEAD[name]}",
        param=name,
        code="unsupported_parameter",
    )
