"""The parameters of a request under the names of OpenAI's API, which compatible servers share."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from toolwire.backends.dialects import Constraint, Dialect
from toolwire.backends.openai.parts import WIRE
from toolwire.protocol.requests import Request
from toolwire.protocol.sampling import ResponseFormat

Params: TypeAlias = dict[str, Any]
"""Values that can be encoded as JSON, by name."""

_encode = msgspec.json.Encoder().encode
_SCHEMA = b'{"type":"json_schema","json_schema":{"name":"%b","strict":true,"schema":%b}}'
_KINDS = {"text": b'{"type":"text"}', "json_object": b'{"type":"json_object"}'}


def schema_format(schema: bytes, name: bytes) -> bytes:
    """The `response_format` of a JSON Schema."""
    return _SCHEMA % (name, schema)


_CALLS = schema_format(b"%b", b"tool_calls")
CONSTRAINTS: Mapping[Constraint, tuple[str, bytes]] = {
    "json_schema": ("response_format", _CALLS),
    "grammar": ("response_format", _CALLS),  # llama.cpp makes the grammar itself
    "structured_outputs": ("structured_outputs", b'{"json":%b}'),
    "guided_json": ("guided_json", b"%b"),
}
"""The parameter of each kind of constraint, and its value with a place for the JSON Schema."""


def wire_params(request: Request) -> Params:
    """Every parameter that the client gave."""
    params = request.sampling.given()
    if request.response_format is not None:
        params["response_format"] = Raw(encode_format(request.response_format))
    for name, json in request.extras.items():
        params[name] = Raw(json)
    return params


def encode_format(wanted: ResponseFormat) -> bytes:
    """The client's `response_format`: its own bytes if it spoke this wire."""
    if wanted.origin is not None and wanted.origin.wire == WIRE:
        return wanted.origin.json
    return _KINDS.get(wanted.kind) or schema_format(wanted.json_schema, b"answer")


def forwarded(params: Params, dialect: Dialect) -> Params:
    """Those that the server takes, under its own names."""
    taken = ((dialect.forwarded_as(name), value) for name, value in params.items())
    return {name: value for name, value in taken if name is not None}


def ignored_params(request: Request, dialect: Dialect) -> list[str]:
    """What the client sent and this dialect does not take."""
    ignored = [name for name in wire_params(request) if dialect.forwarded_as(name) is None]
    if not dialect.reasoning_in_history and any(said.reasoning for said in request.messages):
        ignored.append("reasoning_content")
    return ignored


def constrain(params: Params, constraint: tuple[str, bytes], schema: bytes) -> None:
    """Hold the answer to a JSON Schema."""
    name, form = constraint
    params[name] = Raw(form % schema)


def keep_special_tokens(params: Params) -> None:
    """Ask a server that strips special tokens to leave them in, with no space around them."""
    params["skip_special_tokens"] = False
    params["spaces_between_special_tokens"] = False


def encode_fields(params: Params) -> bytes:
    """The members of a JSON object, without its braces."""
    return _encode(params)[1:-1]
