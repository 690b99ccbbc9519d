"""Encodes the body of an OpenAI-compatible `/chat/completions`, in a server's dialect.

Fields that SDKs echo back are not part of `Request`, so they are not sent.
"""

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, Raw, UnsetType

from toolwire.backends.base import BackendRequest
from toolwire.backends.dialects import Dialect
from toolwire.backends.openai.params import (
    CONSTRAINTS,
    Params,
    constrain,
    encode_fields,
    forwarded,
    keep_special_tokens,
    wire_params,
)
from toolwire.backends.openai.parts import encode_parts
from toolwire.protocol.content import error_content
from toolwire.protocol.ids import provider_ids
from toolwire.protocol.requests import ChatMessage
from toolwire.protocol.tools import AssistantCall, ToolSet, ToolSpec

_encode = msgspec.json.Encoder().encode
_PLAIN = frozenset({"system", "user"})
"""Roles whose messages are encoded as they are, unless they have a name."""


class _Function(msgspec.Struct):
    name: str
    arguments: str


class _Custom(msgspec.Struct):
    name: str
    input: str


class _Call(msgspec.Struct, omit_defaults=True):
    id: str
    type: str | UnsetType = UNSET
    function: _Function | UnsetType = UNSET
    custom: _Custom | UnsetType = UNSET


class _Message(msgspec.Struct):
    role: str
    content: str | Raw | None
    name: str | UnsetType = UNSET
    tool_calls: list[_Call] | UnsetType = UNSET
    tool_call_id: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET


class _ToolSpec(msgspec.Struct):
    name: str
    description: str | UnsetType = UNSET
    parameters: Raw | UnsetType = UNSET
    strict: bool | UnsetType = UNSET
    format: Raw | UnsetType = UNSET


def encode_body(
    outgoing: BackendRequest, dialect: Dialect, model: str | None, params: Params | None = None
) -> list[bytes]:
    """Return the body, in pieces. `model` is the backend's own model name, if it has one; `params`
    replace those of the request.

    The tools, usually the largest part, are a separate piece, so that they are not copied.
    """
    request = outgoing.request
    fields = [
        b'{"model":' + _encode(model or request.model),
        b'"messages":' + encode_messages(outgoing.messages, dialect),
    ]
    params = forwarded(wire_params(request) if params is None else params, dialect)
    if outgoing.constraint is not None:
        # A required call takes precedence: one answer cannot match two schemas.
        params.pop("response_format", None)
        constrain(params, CONSTRAINTS[dialect.constraint], outgoing.constraint.schema)
    if outgoing.keep_special_tokens and dialect.strips_special_tokens:
        keep_special_tokens(params)
    if params:
        fields.append(encode_fields(params))
    rest = []
    if request.stream and request.include_usage and "stream_options" in dialect.params:
        rest.append(b'"stream_options":{"include_usage":true}')
    rest.append(b'"stream":true}' if request.stream else b'"stream":false}')
    if not outgoing.tools.tools or not (about_tools := _tool_fields(outgoing, dialect)):
        return [b",".join([*fields, *rest])]
    tools, *more = about_tools
    return [b",".join([*fields, b'"tools":']), tools, b",".join([b"", *more, *rest])]


def encode_messages(messages: Sequence[ChatMessage], dialect: Dialect) -> bytes:
    """Encode the history, with call ids in the form that the dialect requires."""
    calls = [call for message in messages if message.calls for call in message.calls]
    ids = provider_ids(calls, dialect.call_ids)
    names = {call.call_id: call.name for call in calls}
    encoded = []
    for message in messages:
        said = message.content
        if message.role in _PLAIN and message.name is None and type(said) is str:
            encoded.append(_Message(message.role, said))
        else:
            encoded.append(_message(message, dialect, ids, names))
    return _encode(encoded)


def _message(
    message: ChatMessage, dialect: Dialect, ids: dict[str, str], names: dict[str, str]
) -> _Message:
    role, said = message.role, message.content
    if message.is_error:
        said = error_content(said)
    content = encode_parts(said, files=dialect.files) if isinstance(said, tuple) else said
    if role == "tool":
        # Clients do not send the tool's name, but some chat templates need it.
        call_id = message.call_id
        return _Message(role, content, names[call_id], UNSET, ids[call_id])
    if role == "developer" and not dialect.developer_role:
        role = "system"
    name = message.name if dialect.message_names else None
    out = _Message(role, content, name or UNSET)
    if role == "assistant":
        if message.calls:
            out.tool_calls = [_call(call, ids[call.call_id]) for call in message.calls]
        elif content is None:
            out.content = ""
        if message.reasoning and dialect.reasoning_in_history:
            out.reasoning_content = message.reasoning
    return out


def _call(call: AssistantCall, provider_id: str) -> _Call:
    if call.kind == "custom":
        return _Call(provider_id, "custom", custom=_Custom(call.name, call.arguments))
    arguments = call.arguments if call.arguments.strip() else "{}"
    return _Call(provider_id, "function", function=_Function(call.name, arguments))


def _tool_fields(outgoing: BackendRequest, dialect: Dialect) -> list[bytes]:
    """Encode tools and tool_choice, in the nearest form that the server honours.

    The policy enforces the rest on the answer.
    """
    choice, tools = outgoing.request.choice, outgoing.tools
    if choice.mode == "none" and "none" not in dialect.tool_choices:
        return []
    value = b'"tool_choice":"%b"'
    value %= choice.mode.encode() if choice.mode in dialect.tool_choices else b"auto"
    if choice.named and choice.allowed:
        tool = tools.tools[next(iter(choice.allowed))]
        if "named" in dialect.tool_choices:
            value = b'"tool_choice":' + _encode({"type": tool.kind, tool.kind: {"name": tool.name}})
        else:
            tools = ToolSet({tool.name: tool})
    fields = [tools.encoded("openai", _tool)]
    if "tool_choice" in dialect.params:
        fields.append(value)
    if not outgoing.request.parallel and "parallel_tool_calls" in dialect.params:
        fields.append(b'"parallel_tool_calls":false')
    return fields


def _tool(tool: ToolSpec) -> dict[str, object]:
    spec = _ToolSpec(tool.name, UNSET if tool.description is None else tool.description)
    schema = Raw(_encode(tool.parameters))
    if tool.kind == "custom":
        spec.format = schema if tool.parameters else UNSET
    else:
        spec.parameters = schema
        spec.strict = True if tool.strict else UNSET
    return {"type": tool.kind, tool.kind: spec}
