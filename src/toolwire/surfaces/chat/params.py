"""The parameters of a chat, by OpenAI's names, except the conversation and its tools.

A table of names and types. A value of the wrong type is an error that names the parameter. Unknown
names are never an error. `null` always means "not given".
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Raw

from toolwire.backends.openai.parts import WIRE
from toolwire.errors import RequestError
from toolwire.protocol.content import WireJson
from toolwire.protocol.sampling import (
    DEFAULT_SAMPLING,
    FormatKind,
    ResponseFormat,
    SamplingParams,
)
from toolwire.surfaces.explain import (
    Modality,
    ReasoningEffort,
    ServiceTier,
    Verbosity,
    bad_value,
    check_name,
    check_nesting,
    decode,
    missing,
)
from toolwire.surfaces.json_schema import check_answer_schema

_Penalty = Annotated[float, Meta(ge=-2, le=2)] | None
_Bias = Annotated[float, Meta(ge=-100, le=100)]
_Tokens = Annotated[int, Meta(ge=1)] | None
_Object = dict[str, Any] | None


class JsonSchemaWire(msgspec.Struct):
    """The schema that text must fit."""

    name: str | None = None
    schema: Any = None
    strict: bool | None = None
    description: str | None = None


class ResponseFormatWire(msgspec.Struct):
    """The form that text must have."""

    type: str
    json_schema: JsonSchemaWire | None = None
    schema: _Object = None
    """The field that llama.cpp reads."""


PARAM_TYPES: dict[str, Any] = {
    "audio": _Object,
    "frequency_penalty": _Penalty,
    "logit_bias": Annotated[dict[str, _Bias], Meta(max_length=1024)] | None,
    "logprobs": bool | None,
    "max_completion_tokens": _Tokens,
    "max_tokens": _Tokens,
    "metadata": Annotated[dict[str, str], Meta(max_length=16)] | None,
    "modalities": Annotated[list[Modality], Meta(max_length=8)] | None,
    "n": Annotated[int, Meta(ge=1, le=128)] | None,
    "prediction": _Object,
    "presence_penalty": _Penalty,
    "prompt_cache_key": str | None,
    "prompt_cache_retention": str | None,
    "reasoning_effort": ReasoningEffort | None,
    "response_format": ResponseFormatWire | None,
    "safety_identifier": str | None,
    "seed": int | None,
    "service_tier": ServiceTier | None,
    "stop": str | Annotated[list[str], Meta(max_length=4)] | None,
    "store": bool | None,
    "temperature": Annotated[float, Meta(ge=0, le=2)] | None,
    "top_logprobs": Annotated[int, Meta(ge=0, le=20)] | None,
    "top_p": Annotated[float, Meta(ge=0, le=1)] | None,
    "user": str | None,
    "verbosity": Verbosity | None,
    "web_search_options": _Object,
}

PARAM_DECODERS: dict[str, "msgspec.json.Decoder[Any]"] = {
    name: msgspec.json.Decoder(kind) for name, kind in PARAM_TYPES.items()
}

REPLACED = {"functions": "tools", "function_call": "tool_choice"}
"""Parameters from before 2023, and their replacements."""

_SAMPLING = frozenset(SamplingParams.__struct_fields__) - {"stop"}
_KINDS: dict[str, FormatKind] = {
    "text": "text",
    "json_object": "json_object",
    "json_schema": "json_schema",
    "structural_tag": "other",
}
"""OpenAI's types, and one of vLLM and SGLang."""


def read_response_format(wire: ResponseFormatWire, raw: bytes) -> ResponseFormat:
    """Decode the requested response format."""
    if wire.type not in _KINDS:
        supported = "'text', 'json_object', and 'json_schema'"
        raise bad_value(wire.type, "response_format.type", supported)
    schema = b""
    if wire.type == "json_schema":
        schema = msgspec.json.encode(_checked_schema(wire))
    return ResponseFormat(_KINDS[wire.type], schema, WireJson(WIRE, raw))


def _checked_schema(wire: ResponseFormatWire) -> dict[str, Any]:
    where, described = "response_format.json_schema", wire.json_schema
    if described is None:
        if wire.schema is None:
            raise missing(where)
        return check_answer_schema(wire.schema, f"{where}.schema")
    schema = wire.schema if described.schema is None else described.schema
    if schema is None:
        raise missing(f"{where}.schema")
    checked = check_answer_schema(schema, f"{where}.schema", strict=bool(described.strict))
    if described.name is None:
        raise missing(f"{where}.name")
    check_name(described.name, f"{where}.name")
    return checked


def _check_bias(biases: dict[str, float]) -> None:
    for token in biases:
        if not (token.isascii() and token.isdigit()):
            raise RequestError(
                f"Invalid key in 'logit_bias': '{token[:100]}'. A key is the id of a token: a "
                "non-negative integer.",
                param="logit_bias",
                code="invalid_value",
            )


def _check_logprobs(sampling: dict[str, Any]) -> None:
    if sampling.get("top_logprobs") and not sampling.get("logprobs"):
        raise RequestError(
            "Invalid value for 'top_logprobs': 'top_logprobs' is only allowed when 'logprobs' is "
            "true.",
            param="top_logprobs",
            code="invalid_value",
        )


class ChatParams(msgspec.Struct):
    """The parameters of one request, by how they are used."""

    sampling: dict[str, Any] = {}
    response_format: ResponseFormat | None = None
    extras: dict[str, bytes] = {}
    unknown: list[str] = []

    @property
    def sampling_params(self) -> SamplingParams:
        """The parameters that every server supports."""
        return SamplingParams(**self.sampling) if self.sampling else DEFAULT_SAMPLING

    def add(self, name: str, value: Any, raw: bytes) -> None:
        """Check and add a known parameter."""
        if name in _SAMPLING:
            self.sampling[name] = value
        elif name == "stop":
            self.sampling[name] = (value,) if isinstance(value, str) else tuple(value)
        elif name == "response_format":
            self.response_format = read_response_format(value, raw)
        else:
            self.extras[name] = raw


NO_PARAMS = ChatParams()


def read_params(fields: dict[str, Raw], depth: int) -> ChatParams:
    """Check known parameters and keep unknown ones. The backend's dialect filters them later."""
    params = ChatParams()
    for name, value in fields.items():
        raw = bytes(value)
        if name in REPLACED:
            raise RequestError(
                f"Unsupported parameter: '{name}' is not supported. "
                f"Use '{REPLACED[name]}' instead.",
                param=name,
                code="unsupported_parameter",
            )
        check_nesting(raw, name, depth)
        decoder = PARAM_DECODERS.get(name)
        if decoder is None:
            params.unknown.append(name)
            params.extras[name] = raw
        else:
            params.add(name, decode(decoder, raw, name), raw)
    if "top_logprobs" in params.sampling:
        _check_logprobs(params.sampling)
    if "logit_bias" in params.sampling:
        _check_bias(params.sampling["logit_bias"] or {})
    return params
