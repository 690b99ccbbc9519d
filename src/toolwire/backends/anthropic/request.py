"""Encodes the body of `POST /v1/messages`."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.backends.anthropic.blocks import turns_of
from toolwire.backends.anthropic.own import added_messages, own_fields
from toolwire.backends.base import BackendRequest
from toolwire.backends.dialects import Dialect
from toolwire.backends.openai.params import wire_params
from toolwire.backends.system_prompt import split_system
from toolwire.protocol.requests import Request
from toolwire.protocol.tools import FREE_CHOICE, ToolChoice, ToolSpec

DEFAULT_MAX_TOKENS = 8192
"""The default token limit, because the API requires one. All current models support it."""
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}
_COUNTED = frozenset(
    {"messages", "system", "tools", "tool_choice", "thinking", "output_config", "output_format"}
    | {"cache_control", "context_management", "mcp_servers", "speed"}
)
"""The client's own fields that count."""
_encode = msgspec.json.Encoder().encode


def encode_request(outgoing: BackendRequest, dialect: Dialect, model: str | None) -> list[bytes]:
    """Return the body, in pieces. `model` is the backend's own model name, if it has one."""
    request, own = outgoing.request, own_fields(outgoing)
    body: dict[str, Any] = {
        "model": model or request.model,
        "max_tokens": _limit(request),
        **_conversation(outgoing, dialect, own),
        **_params(request, dialect),
    }
    if request.stream:
        body["stream"] = True
    return _encoded(body, outgoing, own)


def encode_count(outgoing: BackendRequest, dialect: Dialect, model: str | None) -> list[bytes]:
    """Return the body of a request to count its tokens. That takes fewer fields."""
    own = {name: raw for name, raw in own_fields(outgoing).items() if name in _COUNTED}
    body = {
        "model": model or outgoing.request.model,
        **_conversation(outgoing, dialect, own),
    }
    return _encoded(body, outgoing, own)


def _encoded(body: dict[str, Any], outgoing: BackendRequest, own: dict[str, Any]) -> list[bytes]:
    """Return the body with the tools, and with the client's own fields."""
    request = outgoing.request
    if outgoing.tools.tools and not ("tools" in own and request.choice == FREE_CHOICE):
        body["tool_choice"] = _choice(request.choice, parallel=request.parallel)
    elif "tools" not in own:
        own.pop("tool_choice", None)
    if "output_format" in own:  # the earlier name: a server refuses both
        body.pop("output_config", None)
    body |= own
    tools = body.pop("tools", None)
    if tools is None and not outgoing.tools.tools:
        return [_encode(body)]
    return [
        _encode(body)[:-1] + b',"tools":',
        tools or outgoing.tools.encoded("anthropic", _tool),
        b"}",
    ]


def _conversation(
    outgoing: BackendRequest, dialect: Dialect, own: dict[str, Any]
) -> dict[str, Any]:
    """Return the conversation; if the client's own is sent, with what the gateway has added."""
    if "messages" not in own:
        system, messages = split_system(outgoing.messages)
        turns = turns_of(messages, dialect.call_ids)
        return {**({"system": system} if system else {}), "messages": turns}
    if added := added_messages(outgoing):
        more = _encode(turns_of(added, dialect.call_ids))
        own["messages"] = Raw(bytes(own["messages"]).rstrip()[:-1] + b"," + more[1:])
    return {}


def is_ignored_format(request: Request) -> bool:
    """Whether the API cannot enforce the client's `response_format`."""
    wanted = request.response_format
    return wanted is not None and wanted.kind in ("json_object", "other")


def _limit(request: Request) -> int:
    limits = (request.sampling.max_completion_tokens, request.sampling.max_tokens)
    return next((limit for limit in limits if limit is not None), DEFAULT_MAX_TOKENS)


def _params(request: Request, dialect: Dialect) -> dict[str, Any]:
    given = wire_params(request)
    return {
        name: value
        for param, (name, write) in _WRITERS.items()
        if param in given and param in dialect.params and (value := write(request)) is not None
    }


def _temperature(request: Request) -> float:
    return min(request.sampling.temperature or 0.0, 1.0)


def _top_p(request: Request) -> float | None:
    """Newer models refuse `top_p` next to a temperature, and 1 is the default."""
    sampling = request.sampling
    return None if sampling.top_p == 1 and sampling.temperature is not None else sampling.top_p


def _format(request: Request) -> dict[str, Any] | None:
    wanted = request.response_format
    if wanted is None or wanted.kind != "json_schema":
        return None
    return {"format": {"type": "json_schema", "schema": Raw(wanted.json_schema)}}


_WRITERS: dict[str, tuple[str, Callable[[Request], Any]]] = {
    "temperature": ("temperature", _temperature),
    "top_p": ("top_p", _top_p),
    "top_k": ("top_k", lambda request: Raw(request.extras["top_k"])),
    "stop": ("stop_sequences", lambda request: request.sampling.stop),
    "user": ("metadata", lambda request: {"user_id": Raw(request.extras["user"])}),
    "response_format": ("output_config", _format),
}
"""Client parameters, their names in the API, and their encoders."""


def _choice(choice: ToolChoice, *, parallel: bool) -> dict[str, Any]:
    value: dict[str, Any] = {"type": _CHOICES[choice.mode]}
    if choice.named and choice.allowed:
        value = {"type": "tool", "name": next(iter(choice.allowed))}
    if not parallel and choice.mode != "none":
        value["disable_parallel_tool_use"] = True
    return value


def _tool(tool: ToolSpec) -> dict[str, Any]:
    described = {} if tool.description is None else {"description": tool.description}
    schema = {"type": "object", **tool.parameters}
    strict = {"strict": True} if tool.strict else {}
    return {"name": tool.name, **described, "input_schema": schema, **strict}
