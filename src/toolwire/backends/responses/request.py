"""Encodes the body of `POST /v1/responses`.

Nothing is stored at the server: the conversation is always sent whole.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from toolwire.backends.base import BackendRequest
from toolwire.backends.dialects import Dialect
from toolwire.backends.openai.params import encode_format, wire_params
from toolwire.backends.responses.items import items_of
from toolwire.backends.system_prompt import split_system
from toolwire.protocol.effort import nearest_effort
from toolwire.protocol.requests import Request
from toolwire.protocol.tools import ToolChoice, ToolSet, ToolSpec

WIRE = "openai_responses"
"""Marks parameters of this API, which its servers get verbatim."""
LOGPROBS = "message.output_text.logprobs"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def encode_request(outgoing: BackendRequest, dialect: Dialect, model: str | None) -> list[bytes]:
    """Return the body, in pieces. `model` is the backend's own model name, if it has one."""
    request = outgoing.request
    system, messages = split_system(outgoing.messages)
    body: dict[str, Any] = {
        "model": model or request.model,
        **({"instructions": system} if system else {}),
        "input": items_of(messages, dialect.call_ids),
        "store": False,
        "stream": request.stream,
        **_params(request, dialect),
    }
    if not outgoing.tools.tools:
        return [_encode(body)]
    body["tool_choice"] = _choice(request.choice, outgoing.tools)
    if not request.parallel:
        body["parallel_tool_calls"] = False
    return [_encode(body)[:-1] + b',"tools":', outgoing.tools.encoded("responses", _tool), b"}"]


def is_ignored_format(request: Request) -> bool:
    """Whether the API does not know the client's `response_format`."""
    return request.response_format is not None and request.response_format.kind == "other"


def is_ignored_reasoning(request: Request) -> bool:
    """Whether reasoning is not sent: only what a server of this API has encrypted is."""
    return any(one.reasoning and not one.encrypted_reasoning for one in request.messages)


def _params(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the parameters, under the API's names. Some of them share a field."""
    given = wire_params(request)
    fields: dict[str, Any] = {}
    for param, write in _WRITERS.items():
        if param in given and param in dialect.params:
            for name, value in write(request).items():
                known = fields.get(name)
                fields[name] = {**known, **value} if isinstance(known, dict) else value
    effort = request.sampling.reasoning_effort
    if effort is not None and "reasoning_effort" in dialect.params:
        fields["reasoning"] = {"effort": nearest_effort(effort, dialect.efforts)}
    for param in dialect.params & request.extras.keys():
        if param not in _WRITERS:
            fields[param] = Raw(request.extras[param])
    if request.origin is not None and request.origin.wire == WIRE:
        fields |= {name: Raw(json) for name, json in request.origin.fields.items()}
    return fields


def _limit(request: Request) -> dict[str, Any]:
    sampling = request.sampling
    return {"max_output_tokens": sampling.max_completion_tokens or sampling.max_tokens}


def _format(request: Request) -> dict[str, Any]:
    """Return the format: as in chat completions, but the schema is one level higher."""
    wanted = request.response_format
    if wanted is None or is_ignored_format(request):
        return {}
    chat = _decode(encode_format(wanted))
    return {"text": {"format": {"type": chat["type"], **(chat.get("json_schema") or {})}}}


_WRITERS: dict[str, Callable[[Request], dict[str, Any]]] = {
    "max_tokens": _limit,
    "max_completion_tokens": _limit,
    "temperature": lambda request: {"temperature": request.sampling.temperature},
    "top_p": lambda request: {"top_p": request.sampling.top_p},
    "logprobs": lambda r: {"include": [LOGPROBS]} if r.sampling.logprobs else {},
    "top_logprobs": lambda request: {"top_logprobs": request.sampling.top_logprobs},
    "response_format": _format,
    "verbosity": lambda request: {"text": {"verbosity": Raw(request.extras["verbosity"])}},
}
"""The encoders of client parameters that have another name or form here."""


def _choice(choice: ToolChoice, tools: ToolSet) -> str | dict[str, str]:
    if choice.named and choice.allowed:
        tool = tools.tools[next(iter(choice.allowed))]
        return {"type": tool.kind, "name": tool.name}
    return choice.mode


def _tool(tool: ToolSpec) -> dict[str, Any]:
    head: dict[str, Any] = {"type": tool.kind, "name": tool.name}
    if tool.description is not None:
        head["description"] = tool.description
    if tool.kind == "custom":
        return {**head, **({"format": _grammar(tool.parameters)} if tool.parameters else {})}
    # The API takes a missing `strict` for true.
    return {**head, "parameters": {"type": "object", **tool.parameters}, "strict": tool.strict}


def _grammar(form: Any) -> dict[str, Any]:
    """Return a custom tool's format: its grammar is one level higher than in chat completions."""
    return {"type": form.get("type"), **(form.get("grammar") or {})}
