"""`tool_choice` in all its forms, from JSON to a `ToolChoice` about tools that exist."""

from typing import Any, get_args

import msgspec

from toolwire.errors import RequestError
from toolwire.protocol.chat import ToolChoice, ToolMode, ToolSet
from toolwire.protocol.explain import bad_value, decode, empty_array, json_kind, missing, wrong_type
from toolwire.protocol.toolset import safe_name

_decode_any = msgspec.json.Decoder()
_MODES = {mode: ToolChoice(mode) for mode in get_args(ToolMode)}


def needs_tools(name: str) -> RequestError:
    """OpenAI's refusal of a parameter about tools where none are given."""
    return RequestError(
        f"Invalid value for '{name}': '{name}' is only allowed when 'tools' are specified.",
        param=name,
    )


def read_choice(raw: bytes, toolset: ToolSet, *, lenient_names: bool) -> ToolChoice:
    """What this JSON allows; raises `RequestError` naming the place."""
    value = decode(_decode_any, raw, "tool_choice")
    if not toolset.tools and value not in ("none", "auto"):
        raise needs_tools("tool_choice")
    if isinstance(value, str):
        if (mode := _MODES.get(value)) is None:
            raise bad_value(value, "tool_choice", "'none', 'auto', and 'required'")
        return mode
    if not isinstance(value, dict):
        raise wrong_type("tool_choice", "str | object", json_kind(value))
    if value.get("type") == "allowed_tools":
        return _allowed_tools(value, toolset, lenient_names=lenient_names)
    name = _choice_name(value, "tool_choice", "'function', 'custom', and 'allowed_tools'")
    return ToolChoice("required", frozenset({_known(name, toolset, lenient_names)}), named=True)


def _choice_name(value: dict[str, Any], where: str, kinds: str) -> str:
    """Nested `{"function": {"name"}}`, or the flat form of 004. `kinds` is for the message."""
    kind = value.get("type", "function")
    if kind not in ("function", "custom"):
        raise bad_value(str(kind), f"{where}.type", kinds)
    inner = value.get(kind, value)
    name = inner.get("name") if isinstance(inner, dict) else None
    if name is None:
        raise missing(f"{where}.{kind}.name")
    if not isinstance(name, str):
        raise wrong_type(f"{where}.{kind}.name", "str", json_kind(name))
    return name


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
    if mode not in ("auto", "required"):
        raise bad_value(str(mode), f"{where}.mode", "'auto' and 'required'")
    names = [
        _choice_name(tool, f"{where}.tools[{at}]", "'function' and 'custom'")
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
