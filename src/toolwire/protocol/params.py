"""The parameters of a chat completion besides the conversation and its tools.

A table: name -> type. A value that does not fit is an error that names the parameter; a name that
is not here is unknown, which is never an error (spec 1.2). `null` always means "not given".
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

_Penalty = Annotated[float, Meta(ge=-2, le=2)] | None
_Tokens = Annotated[int, Meta(ge=1)] | None
_Object = dict[str, Any] | None


class _ResponseFormat(msgspec.Struct):
    json_schema: _Object = None


PARAM_TYPES: dict[str, Any] = {
    "audio": _Object,
    "frequency_penalty": _Penalty,
    "logit_bias": Annotated[dict[str, float], Meta(max_length=1024)] | None,
    "logprobs": bool | None,
    "max_completion_tokens": _Tokens,
    "max_tokens": _Tokens,
    "metadata": Annotated[dict[str, str], Meta(max_length=16)] | None,
    "modalities": Annotated[list[str], Meta(max_length=8)] | None,
    "n": Annotated[int, Meta(ge=1, le=128)] | None,
    "prediction": _Object,
    "presence_penalty": _Penalty,
    "prompt_cache_key": str | None,
    "prompt_cache_retention": str | None,
    "reasoning_effort": str | None,
    "response_format": _ResponseFormat | None,
    "safety_identifier": str | None,
    "seed": int | None,
    "service_tier": str | None,
    "stop": str | Annotated[list[str], Meta(max_length=4)] | None,
    "store": bool | None,
    "temperature": Annotated[float, Meta(ge=0, le=2)] | None,
    "top_logprobs": Annotated[int, Meta(ge=0, le=20)] | None,
    "top_p": Annotated[float, Meta(ge=0, le=1)] | None,
    "user": str | None,
    "verbosity": str | None,
    "web_search_options": _Object,
}

PARAM_DECODERS: dict[str, "msgspec.json.Decoder[Any]"] = {
    name: msgspec.json.Decoder(kind) for name, kind in PARAM_TYPES.items()
}

REPLACED = {"functions": "tools", "function_call": "tool_choice"}
"""The form of before 2023, and what to use instead (001)."""
