"""Decodes `tool_choice` in all its forms."""

from typing import Any, get_args

import msgspec

from toolwire.errors import RequestError
from toolwire.protocol.tool_cache import safe_name
from toolwire.protocol.tools import ToolChoice, ToolMode, ToolSet
from toolwire.surfaces.explain import (
    bad_value,
    decode,
    empty_array,
    json_kind,
    missing,
    wrong_type,
)

_decode_any = msgspec.json.Decoder()
_KINDS = ("function", "custom")
_MODES: dict[str, ToolChoice] = {mode: ToolChoice(mode) for mode in get_args(ToolMode)}


def needs_tools(name: str) -> RequestError:
    """Return OpenAI's error for a tool parameter without tools."""
    return RequestError(
        f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.",
        param=name,
    )


def read_choice(raw: bytes, toolset: ToolSet, *, lenient_names: bool) -> ToolChoice:
    """Decode a `tool_choice`. Raises `RequestError` with its location."""
    value = decode(_decode_any, raw, "tool_choice")
    if not toolset.tools and value not in ("none", "auto"):
        raise needs_tools("tool_choice")
    if isinstance(value, str):
        _check_word(value, "tool_choice", ("none", "auto", "required"))
        return _MODES[value]
    if not isinstance(value, dict):
        raise wrong_type("tool_choice", "str | object", json_kind(value))
    if value.get("type") == "allowed_tools":
        return _allowed_tools(value, toolset, lenient_names=lenient_names)
    name = _choice_name(value, "tool_choice", (*_KINDS, "allowed_tools"))
    return ToolChoice("required", frozenset({_known(name, toolset, lenient_names)}), named=True)


def _choice_name(value: dict[str, Any], where: str, kinds: tuple[str, ...]) -> str:
    """Nested `{"function": {"name"}}`, or the flat form of the Responses API."""
    kind = value.get("type", "function")
    _check_word(kind, f"{where}.type", kinds)
    inner = value.get(kind, value)
    name = inner.get("name") if isinstance(inner, dict) else None
    if name is None:
        raise missing(f"{where}.{kind}.name")
    if not isinstance(name, str):
        raise wrong_type(f"{where}.{kind}.name", "str", json_kind(name))
    return name


def _check_word(value: Any, where: str, supported: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        raise wrong_type(where, "str", json_kind(value))
    if value not in supported:
        *first, last = (f"'{word}'" for word in supported)
        comma = "," if len(first) > 1 else ""
        raise bad_value(value, where, f"{', '.join(first)}{comma} and {last}")


def _known(name: str, toolset: ToolSet, lenient_names: bool) -> str:  # noqa: FBT001
    safe = safe_name(name) if lenient_names and name else name
    if safe not in toolset.tools:
        raise RequestError(
            f"Tool choice '{name[:100]}' not found in 'tools' parameter.", param="tool_choice"
        )
    return safe


def _allowed_tools(value: dict[str, Any], toolset: ToolSet, *, lenient_names: bool) -> ToolChoice:
    where = "tool_choice.allowed_tools"
    inner = value.get("allowed_tools", value)
    if not isinstance(inner, dict):
        raise wrong_type(where, "object", json_kind(inner))
    mode = inner.get("mode", "auto")
    _check_word(mode, f"{where}.mode", ("auto", "required"))
    names = [
        _choice_name(tool, f"{where}.tools[{at}]", _KINDS)
        for at, tool in enumerate(_allowed_list(inner, f"{where}.tools"))
    ]
    return ToolChoice(mode, frozenset(_known(name, toolset, lenient_names) for name in names))


def _allowed_list(inner: dict[str, Any], where: str) -> list[dict[str, Any]]:
    tools = inner.get("tools")
    if tools is None:
        raise missing(where)
    if not isinstance(tools, list):
        raise wrong_type(where, "array", json_kind(tools))
    if not tools:
        raise empty_array(where)
    for at, tool in enumerate(tools):
        if not isinstance(tool, dict):
            raise wrong_type(f"{where}[{at}]", "object", json_kind(tool))
    return tools
