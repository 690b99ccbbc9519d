"""Decodes `tool_choice` in all its forms."""

from typing import Any, get_args

import msgspec

from toolwire.errors import RequestError
from toolwire.protocol.tools import FREE_CHOICE, ToolChoice, ToolMode
from toolwire.surfaces.explain import (
    bad_value,
    decode,
    empty_array,
    json_kind,
    missing,
    wrong_type,
)
from toolwire.surfaces.responses.kinds import KINDS
from toolwire.surfaces.responses.request.tools import OfferedTools

_any = msgspec.json.Decoder()
_MODES = get_args(ToolMode)
_WORDS = "'none', 'auto', and 'required'"
_CALLED = tuple(KINDS)
"""The types of tools that a client runs. A type may be any JSON, so this is not a set."""


def read_choice(raw: bytes, tools: OfferedTools) -> ToolChoice:
    """Decode a `tool_choice`. Raises `RequestError` with its location."""
    value = decode(_any, raw, "tool_choice")
    if value in ("auto", "none"):
        return ToolChoice(value)
    if isinstance(value, dict) and value.get("type") == "allowed_tools":
        return _allowed(value, tools)
    if not tools.tools:
        raise _nothing_to_call("the request")
    if isinstance(value, str):
        if value not in _MODES:
            raise bad_value(value, "tool_choice", _WORDS)
        return ToolChoice("required")
    if not isinstance(value, dict):
        raise wrong_type("tool_choice", "str | object", json_kind(value))
    return ToolChoice("required", frozenset({_offered(value, tools, "tool_choice")}), named=True)


def _allowed(value: dict[str, Any], tools: OfferedTools) -> ToolChoice:
    mode = value.get("mode", "auto")
    if mode not in ("auto", "required"):
        raise bad_value(str(mode), "tool_choice.mode", "'auto' and 'required'")
    listed = value.get("tools")
    if not isinstance(listed, list):
        raise wrong_type("tool_choice.tools", "array", json_kind(listed))
    if not listed:
        raise empty_array("tool_choice.tools")
    names = set()
    for at, tool in enumerate(listed):
        where = f"tool_choice.tools[{at}]"
        if not isinstance(tool, dict):
            raise wrong_type(where, "object", json_kind(tool))
        if tool.get("type", "function") in _CALLED:
            names.add(_offered(tool, tools, where))
    if not names and mode == "required":
        raise _nothing_to_call("its list")
    if not names:
        return ToolChoice("none") if tools.tools else FREE_CHOICE
    return ToolChoice(mode, frozenset(names))


def _nothing_to_call(what: str) -> RequestError:
    return RequestError(
        f"Invalid value for 'tool_choice': it demands a call, but {what} has no tools that can be "
        "called here.",
        param="tool_choice",
        code="invalid_value",
    )


def _offered(value: dict[str, Any], tools: OfferedTools, where: str) -> str:
    """Return the model's name for the chosen tool."""
    kind = value.get("type", "function")
    if kind not in _CALLED:
        raise RequestError(
            f"Unsupported value: '{where}.type' is '{str(kind)[:100]}', which is not run here. "
            "Choose a tool of type 'function' or 'custom'.",
            param=f"{where}.type",
            code="unsupported_value",
        )
    known = KINDS[kind]
    name = value.get("name") if known.named else known.name
    if not isinstance(name, str):
        raise missing(f"{where}.name")
    offered = tools.named(name, str(value.get("namespace") or ""))
    if offered is None:
        raise RequestError(
            f"Tool choice '{name[:100]}' not found in 'tools' parameter.", param="tool_choice"
        )
    return offered
