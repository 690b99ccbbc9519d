"""Reads the body of `/v1/chat/completions` into a `Request`.

The body is split into its top-level values first. `tools` is looked up by its bytes, parameters are
checked one by one, messages are decoded by type. Rules between fields are checked here, rules
between messages in `gateway.history`.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Raw

from toolwire.errors import RequestError
from toolwire.protocol.content import Content, Part
from toolwire.protocol.json_limits import MOST_VALUES, check_width
from toolwire.protocol.requests import ChatMessage, Request, Role
from toolwire.protocol.tool_cache import is_safe_name, safe_name
from toolwire.protocol.tools import FREE_CHOICE, NO_TOOLS, AssistantCall, ToolChoice, ToolSet
from toolwire.surfaces.chat.params import NO_PARAMS, read_params
from toolwire.surfaces.chat.parts import read_part
from toolwire.surfaces.explain import (
    check_length,
    check_name,
    check_nesting,
    decode,
    empty_array,
    missing,
)
from toolwire.surfaces.openai.tool_choice import needs_tools, read_choice
from toolwire.surfaces.openai.tools import ToolReader
from toolwire.surfaces.openai.wire import (
    AssistantMessageWire,
    CalledFunctionWire,
    DeveloperMessageWire,
    MessageToolCallWire,
    MessageWire,
    StreamOptions,
    SystemMessageWire,
    ToolMessageWire,
    UserMessageWire,
)
from toolwire.surfaces.repeated_tools import RepeatedTools

_ROLES: dict[type[Any], Role] = {
    SystemMessageWire: "system", DeveloperMessageWire: "developer", UserMessageWire: "user",
    AssistantMessageWire: "assistant", ToolMessageWire: "tool",
}  # fmt: skip
_SPOKEN = {kind: role for kind, role in _ROLES.items() if role not in ("assistant", "tool")}
_decode_messages = msgspec.json.Decoder(list[MessageWire])
_decode_bool = msgspec.json.Decoder(bool | None)
_decode_str = msgspec.json.Decoder(str)
_decode_stream_options = msgspec.json.Decoder(StreamOptions | None)

_FLAGS = {b"true": True, b"false": False}
_NULL = Raw(b"null")
_NO_CALLS = (UNSET, _NULL, Raw(b"[]"))
_NEEDED = frozenset({"model", "messages"})
_OURS = frozenset(
    {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "stream", "stream_options"}
)


class RequestReader(msgspec.Struct, frozen=True):
    """Decodes bodies. Holds the tool cache and the limits, but no state of requests."""

    tools: ToolReader
    max_messages: int
    strict_parallel: bool = False
    max_values: int = MOST_VALUES
    bodies: RepeatedTools = msgspec.field(default_factory=RepeatedTools)

    def read(self, body: bytes, *, lenient_names: bool = False) -> Request:
        """Decode one body. Raises `RequestError`."""
        check_width(body, "", self.max_values)
        fields = self._split(body)
        params = NO_PARAMS
        if not fields.keys() <= _OURS:
            rest = {name: raw for name, raw in fields.items() if name not in _OURS}
            params = read_params(rest, self.tools.max_depth)
        toolset = NO_TOOLS
        if "tools" in fields:
            toolset = self.tools.read(fields["tools"], lenient_names=lenient_names)
        choice = FREE_CHOICE
        if "tool_choice" in fields:
            choice = _choice(fields, toolset, lenient_names=lenient_names)
        parallel = True
        adjusted: tuple[str, ...] = ()
        if "parallel_tool_calls" in fields:
            parallel, adjusted = self._parallel(fields, toolset)
        stream, include_usage = _stream(fields)
        return Request(
            model=_model(fields),
            messages=self._messages(fields, lenient_names=lenient_names),
            tools=toolset,
            choice=choice,
            parallel=parallel,
            stream=stream,
            include_usage=include_usage,
            sampling=params.sampling_params,
            response_format=params.response_format,
            extras=params.extras,
            ignored=tuple(params.unknown),
            adjusted=adjusted,
            repairs=toolset.repairs,
        )

    def _split(self, body: bytes) -> dict[str, Raw]:
        """Return the top-level values. `null` means "not given" where that is allowed."""
        values = self.bodies.members(body)
        if _NULL in values.values():
            return {name: raw for name, raw in values.items() if raw != _NULL or name in _NEEDED}
        return values

    def _parallel(self, fields: dict[str, Raw], toolset: ToolSet) -> tuple[bool, tuple[str, ...]]:
        asked = _flag(fields, "parallel_tool_calls")
        if _refuses(fields, toolset):
            raise needs_tools("parallel_tool_calls")
        if asked and toolset.strict and not self.strict_parallel:
            # Strict and parallel calls exclude each other; the override is reported to the client.
            # SDKs that do not set it expect several calls, and each call is validated anyway.
            return False, ("parallel_tool_calls",)
        return asked is not False, ()

    def _messages(self, fields: dict[str, Raw], *, lenient_names: bool) -> tuple[ChatMessage, ...]:
        if "messages" not in fields:
            raise missing("messages")
        wire = decode(_decode_messages, fields["messages"], "messages")
        if not wire:
            raise empty_array("messages")
        check_length("messages", len(wire), self.max_messages)
        messages = []
        for at, said in enumerate(wire):
            text = said.content
            content = self._parts(text, at) if isinstance(text, list) else text
            role = _SPOKEN.get(type(said))
            if role is not None and said.tool_calls is UNSET:
                name = said.name  # type: ignore[union-attr]  # `_SPOKEN` has no tool messages
                messages.append(ChatMessage(role, content, (), "", None, name))
                continue
            message = _message(said, content, at, lenient_names)
            if message.calls:
                self._check_width(message.calls, at)
            messages.append(message)
        return tuple(messages)

    def _check_width(self, calls: tuple[AssistantCall, ...], at: int) -> None:
        """Check the width of arguments: they are JSON inside JSON, and count towards the limit."""
        for number, call in enumerate(calls):
            if len(call.arguments) > self.max_values and call.kind == "function":
                where = f"messages[{at}].tool_calls[{number}].function.arguments"
                check_width(call.arguments, where, self.max_values)

    def _parts(self, content: list[Raw], at: int) -> tuple[Part, ...]:
        if not content:
            raise empty_array(f"messages[{at}].content")
        parts = []
        for number, part in enumerate(content):
            raw, where = bytes(part), f"messages[{at}].content[{number}]"
            check_nesting(raw, where, self.tools.max_depth)
            parts.append(read_part(raw, where))
        return tuple(parts)


def _model(fields: dict[str, Raw]) -> str:
    if "model" not in fields:
        raise missing("model")
    model = decode(_decode_str, fields["model"], "model")
    if not model or len(model) > 256:
        raise RequestError(
            "Invalid 'model': expected a model name of 1 to 256 characters.",
            param="model",
            code="invalid_value",
        )
    return model


def _flag(fields: dict[str, Raw], name: str) -> bool | None:
    if name not in fields:
        return None
    raw = bytes(fields[name])
    return _FLAGS[raw] if raw in _FLAGS else decode(_decode_bool, raw, name)


def _stream(fields: dict[str, Raw]) -> tuple[bool, bool]:
    stream = bool(_flag(fields, "stream"))
    if "stream_options" not in fields:
        return stream, False
    options = decode(_decode_stream_options, fields["stream_options"], "stream_options")
    if not stream:
        raise RequestError(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            param="stream_options",
        )
    return stream, bool(options and options.include_usage)


def _refuses(fields: dict[str, Raw], toolset: ToolSet) -> bool:
    """Whether to refuse tool parameters without tools, as OpenAI does. `tools: []` is accepted."""
    return not toolset.tools and "tools" not in fields


def _choice(fields: dict[str, Raw], toolset: ToolSet, *, lenient_names: bool) -> ToolChoice:
    if _refuses(fields, toolset):
        raise needs_tools("tool_choice")
    return read_choice(fields["tool_choice"], toolset, lenient_names=lenient_names)


def _message(wire: MessageWire, content: Content, at: int, lenient_names: bool) -> ChatMessage:  # noqa: FBT001
    if isinstance(wire, AssistantMessageWire):
        if wire.function_call is not None:
            raise RequestError(
                f"Unsupported parameter: 'messages[{at}].function_call' is not supported. "
                "Use 'tool_calls' instead.",
                param=f"messages[{at}].function_call",
                code="unsupported_parameter",
            )
        calls: tuple[AssistantCall, ...] = ()
        if wire.tool_calls:
            calls = tuple([_call(c, at, n, lenient_names) for n, c in enumerate(wire.tool_calls)])
        return ChatMessage("assistant", content, calls, "", wire.reasoning_content, wire.name)
    if wire.tool_calls not in _NO_CALLS:
        raise RequestError(
            f"Invalid parameter: 'messages[{at}].tool_calls' is only allowed in messages with role "
            "'assistant'.",
            param=f"messages[{at}].tool_calls",
            code="invalid_value",
        )
    if isinstance(wire, ToolMessageWire):
        if not wire.tool_call_id:
            raise missing(f"messages[{at}].tool_call_id")
        return ChatMessage("tool", content, (), wire.tool_call_id)
    return ChatMessage(_ROLES[type(wire)], content, (), "", None, wire.name)


def _call(call: MessageToolCallWire, at: int, number: int, lenient_names: bool) -> AssistantCall:  # noqa: FBT001
    spec = call.function if call.type == "function" else call.custom
    if spec is None:
        raise missing(f"messages[{at}].tool_calls[{number}].{call.type}")
    name = safe_name(spec.name) if lenient_names and spec.name else spec.name
    if not is_safe_name(name):
        check_name(name, f"messages[{at}].tool_calls[{number}].{call.type}.name")
    text = spec.arguments if isinstance(spec, CalledFunctionWire) else spec.input
    return AssistantCall(call.id, name, text, kind=call.type)
