"""The kinds of tools that a client runs: how the model sees each, and how its calls look.

A model only sees functions. A tool of another kind becomes a function with a schema defined here.
Its calls are converted to the items that the client expects, and back.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from toolwire.protocol.free_text import unwrap_text, wrap_text
from toolwire.protocol.json_numbers import decode_any

ToolKind: TypeAlias = Literal[
    "function", "custom", "tool_search", "local_shell", "shell", "apply_patch"
]
Fields: TypeAlias = dict[str, Any]

INPUT = "input"
"""The only parameter of the function that represents a custom tool."""

_encode = msgspec.json.Encoder().encode
_STRING = {"type": "string"}
_LIMITS = {"timeout_ms": {"type": "integer", "description": "Time limit in milliseconds."}}


class WireTool(msgspec.Struct, frozen=True):
    """A tool as the client knows it."""

    kind: ToolKind
    name: str
    namespace: str = ""


class CallKind(msgspec.Struct, frozen=True):
    """How calls of one kind of tool look."""

    item: str
    """The type of the item of a call."""
    prefix: str
    """The prefix of the ids of such items."""
    write: Callable[[str], Fields]
    """Converts the call's arguments, which may not be JSON, to the fields of the item."""
    read: Callable[[Mapping[str, Any]], str | None]
    """Converts the fields of an item to the call's arguments; None if they are missing."""
    needs: str
    """The required field of an item."""
    streamed: str = ""
    """The name of the events that stream the arguments, if any."""
    named: bool = True
    """Whether the item has the name of the tool."""
    name: str = ""
    """The tool's name for the model, if clients do not name it."""
    description: str = ""
    parameters: Mapping[str, Any] = msgspec.field(default_factory=dict)


def free_text(arguments: str) -> str:
    """Return the input text of a custom tool call."""
    text = unwrap_text(arguments, INPUT)
    return arguments if text is None else text


def _object(arguments: str) -> Fields:
    try:
        value = decode_any(arguments)
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _function_fields(arguments: str) -> Fields:
    return {"arguments": arguments or "{}"}


def _function_arguments(item: Mapping[str, Any]) -> str | None:
    said = item.get("arguments")
    return said if isinstance(said, str) or said is None else _encode(said).decode()


def _custom_arguments(item: Mapping[str, Any]) -> str | None:
    said = item.get(INPUT)
    return wrap_text(said, INPUT) if isinstance(said, str) else None


def _search_fields(arguments: str) -> Fields:
    return {"execution": "client", "arguments": _object(arguments)}


def _exec_fields(arguments: str) -> Fields:
    asked = _object(arguments)
    command = asked.get("command")
    words = [str(word) for word in command] if isinstance(command, list) else []
    if isinstance(command, str):
        words = ["bash", "-lc", command]
    action = {"type": "exec", "command": words, "env": {}}
    return {"action": action | _given(asked, "timeout_ms", "working_directory")}


def _shell_fields(arguments: str) -> Fields:
    asked = _object(arguments)
    said = asked.get("commands", asked.get("command", []))
    commands = [said] if isinstance(said, str) else [str(line) for line in said or ()]
    limits = {"timeout_ms": None, "max_output_length": None}
    return {"action": {"commands": commands} | limits | _given(asked, *limits)}


def _patch_fields(arguments: str) -> Fields:
    asked = _object(arguments)
    operation = {"type": asked.get("type", "update_file"), "path": str(asked.get("path", ""))}
    if operation["type"] != "delete_file":
        operation["diff"] = str(asked.get("diff", ""))
    return {"operation": operation}


def _given(asked: Fields, *names: str) -> Fields:
    return {name: asked[name] for name in names if asked.get(name) is not None}


def _member(name: str) -> Callable[[Mapping[str, Any]], str | None]:
    def arguments(item: Mapping[str, Any]) -> str | None:
        said = item.get(name)
        if not isinstance(said, dict):
            return None
        said = {key: value for key, value in said.items() if value not in (None, {}, "exec")}
        return _encode(said).decode()

    return arguments


KINDS: dict[ToolKind, CallKind] = {
    "function": CallKind(
        "function_call",
        "fc_",
        _function_fields,
        _function_arguments,
        "arguments",
        streamed="response.function_call_arguments",
    ),
    "custom": CallKind(
        "custom_tool_call",
        "ctc_",
        lambda arguments: {INPUT: free_text(arguments)},
        _custom_arguments,
        INPUT,
        streamed="response.custom_tool_call_input",
    ),
    "tool_search": CallKind(
        "tool_search_call",
        "tsc_",
        _search_fields,
        _function_arguments,
        "arguments",
        named=False,
        name="tool_search",
        description="Search for more tools.",
        parameters={"type": "object", "properties": {"query": _STRING}},
    ),
    "local_shell": CallKind(
        "local_shell_call",
        "lsh_",
        _exec_fields,
        _member("action"),
        "action",
        named=False,
        name="local_shell",
        description="Run a command in the user's shell and return its output.",
        parameters={
            "type": "object",
            "properties": {
                "command": {
                    "type": "array",
                    "items": _STRING,
                    "description": 'The program and its arguments, as in ["bash", "-lc", "ls"].',
                },
                "working_directory": _STRING,
                **_LIMITS,
            },
            "required": ["command"],
        },
    ),
    "shell": CallKind(
        "shell_call",
        "sh_",
        _shell_fields,
        _member("action"),
        "action",
        named=False,
        name="shell",
        description="Run commands in the user's shell and return their output.",
        parameters={
            "type": "object",
            "properties": {
                "commands": {
                    "type": "array",
                    "items": _STRING,
                    "description": "The command lines, run one after the other.",
                },
                **_LIMITS,
                "max_output_length": {"type": "integer"},
            },
            "required": ["commands"],
        },
    ),
    "apply_patch": CallKind(
        "apply_patch_call",
        "apc_",
        _patch_fields,
        _member("operation"),
        "operation",
        named=False,
        name="apply_patch",
        description="Create, change or delete a file.",
        parameters={
            "type": "object",
            "properties": {
                "type": {"enum": ["create_file", "update_file", "delete_file"]},
                "path": _STRING,
                "diff": {
                    "type": "string",
                    "description": "The change in V4A form: lines that begin with a space, '-' "
                    "or '+', in sections that begin with '@@'; for a new file, '+' lines only.",
                },
            },
            "required": ["type", "path"],
        },
    ),
}
BY_ITEM: dict[str, ToolKind] = {kind.item: name for name, kind in KINDS.items()}
"""The kinds of tools, by the type of their call items."""
