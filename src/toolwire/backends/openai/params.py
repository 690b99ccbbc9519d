"""Encodes request parameters under the names of OpenAI's API."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from toolwire.backends.dialects import ConstraintKind, Dialect, ThinkingSwitch
from toolwire.backends.openai.parts import WIRE, is_hidden
from toolwire.protocol.effort import nearest_effort
from toolwire.protocol.requests import Request
from toolwire.protocol.sampling import DEFAULT_SAMPLING, ResponseFormat

Params: TypeAlias = dict[str, Any]
"""JSON-encodable values, by name."""

_encode = msgspec.json.Encoder().encode
_reasoning = attrgetter("reasoning")
_SCHEMA = b'{"type":"json_schema","json_schema":{"name":"%b","strict":true,"schema":%b}}'
_KINDS = {"text": b'{"type":"text"}', "json_object": b'{"type":"json_object"}'}


def schema_format(schema: bytes, name: bytes) -> bytes:
    """Return the `response_format` for a JSON Schema."""
    return _SCHEMA % (name, schema)


_CALLS = schema_format(b"%b", b"tool_calls")
CONSTRAINTS: Mapping[ConstraintKind, tuple[str, bytes]] = {
    "json_schema": ("response_format", _CALLS),
    "grammar": ("response_format", _CALLS),  # llama.cpp converts it to a grammar
    "structured_outputs": ("structured_outputs", b'{"json":%b}'),
    "guided_json": ("guided_json", b"%b"),
}
"""The parameter of each kind of constraint, and its value with a slot for the schema."""


_THINKING = "thinking"


def template_switch(on: bool) -> Params:  # noqa: FBT001
    """Return the variables that tell a chat template whether to think. Templates use one of these
    names, and ignore the other."""
    return {"enable_thinking": on, _THINKING: on}


SWITCHES: Mapping[ThinkingSwitch, Callable[[bool], Params]] = {
    "template": lambda on: {"chat_template_kwargs": template_switch(on)},
    "flag": lambda on: {"enable_thinking": on},
    "object": lambda on: {} if on else {_THINKING: {"type": "disabled"}},
    "effort": lambda on: {} if on else {"reasoning_effort": "none"},
    "rendered": lambda _on: {},
}
"""How a server is told whether to think."""


def wire_params(request: Request) -> Params:
    """Return every parameter that the client sent."""
    if request.sampling is DEFAULT_SAMPLING and not (request.extras or request.response_format):
        return {}
    params = request.sampling.given()
    if request.response_format is not None:
        params["response_format"] = Raw(encode_format(request.response_format))
    for name, json in request.extras.items():
        params[name] = Raw(json)
    return params


def encode_format(wanted: ResponseFormat) -> bytes:
    """Encode the client's `response_format`: verbatim if it came from this API."""
    if wanted.origin is not None and wanted.origin.wire == WIRE:
        return wanted.origin.json
    return _KINDS.get(wanted.kind) or schema_format(wanted.json_schema, b"answer")


def forwarded(params: Params, dialect: Dialect) -> Params:
    """Return the parameters that the server accepts, under its own names."""
    if not params:
        return {}
    params = _switched(params, dialect)
    taken = ((dialect.forwarded_as(name), value) for name, value in params.items())
    made = {name: value for name, value in taken if name is not None}
    stops = made.get("stop")
    if isinstance(stops, tuple) and len(stops) > dialect.stops:
        made["stop"] = stops[: dialect.stops]
    if "reasoning_effort" in made:
        made["reasoning_effort"] = nearest_effort(made["reasoning_effort"], dialect.efforts)
    return made


def _switched(params: Params, dialect: Dialect) -> Params:
    """Return the parameters with the switch for thinking in the server's form, if it has one."""
    on = params.get(_THINKING)
    if not isinstance(on, bool):
        return params
    switch = SWITCHES.get(dialect.thinking)
    others = {name: value for name, value in params.items() if name != _THINKING}
    return others if switch is None else {**others, **switch(on)}


def ignored_params(request: Request, dialect: Dialect) -> list[str]:
    """Return the client's parameters that this dialect does not accept."""
    ignored: list[str] = []
    if params := wire_params(request):
        ignored += [n for n in _switched(params, dialect) if dialect.forwarded_as(n) is None]
        if isinstance(params.get(_THINKING), bool) and dialect.thinking not in SWITCHES:
            ignored.append(_THINKING)
    if not dialect.reasoning_in_history and any(map(_reasoning, request.messages)):
        ignored.append("reasoning_content")
    return ignored


def ignored_parts(request: Request, dialect: Dialect) -> list[str]:
    """Return the kinds of content that this dialect does not accept."""
    if dialect.files:
        return []
    for message in request.messages:
        if isinstance(message.content, tuple) and any(map(is_hidden, message.content)):
            return ["file"]
    return []


def constrain(params: Params, constraint: tuple[str, bytes], schema: bytes) -> None:
    """Constrain the answer to a JSON Schema."""
    name, form = constraint
    params[name] = Raw(form % schema)


def keep_special_tokens(params: Params) -> None:
    """Tell a server that strips special tokens to keep them, without spaces around them."""
    params["skip_special_tokens"] = False
    params["spaces_between_special_tokens"] = False


def encode_fields(params: Params) -> bytes:
    """Encode the members of a JSON object, without its braces."""
    return _encode(params)[1:-1]
