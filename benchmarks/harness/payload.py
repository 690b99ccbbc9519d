"""The request bodies of the benchmark: sizes are exact, so that only what is meant differs.

One shape throughout: five messages, one of them a call and one its result, with 20 tools or
none. Padding in the system message brings every body to the same number of bytes.
"""

import json
from collections.abc import Callable
from typing import Any

SIZE = 21_000
TOOLS = 20

_NAMES = [
    "write_file",
    "read_file",
    "list_files",
    "search_files",
    "replace_in_file",
    "delete_file",
    "move_file",
    "run_command",
    "run_tests",
    "open_browser",
    "click_element",
    "fetch_page",
    "query_database",
    "create_branch",
    "commit_changes",
    "open_pull_request",
    "list_issues",
    "comment_issue",
    "send_message",
    "ask_user",
]


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _tool(name: str) -> dict[str, Any]:
    """Make a tool of about 800 bytes, of the kinds of fields that agents really send."""
    what = name.replace("_", " ")
    properties = {
        "path": _text(f"What to {what}: a path relative to the root of the workspace."),
        "content": _text(f"The complete text to {what} with, without any truncation."),
        "mode": {"type": "string", "enum": ["safe", "force", "dry_run"]},
        "timeout": {"type": "integer", "minimum": 1, "maximum": 600},
        "lines": {"type": "array", "items": {"type": "integer"}, "maxItems": 100},
        "options": {
            "type": "object",
            "properties": {"recursive": {"type": "boolean"}, "label": _text("A short label.")},
        },
    }
    function = {
        "name": name,
        "description": f"Use this tool to {what} in the workspace and see the outcome.",
        "parameters": {"type": "object", "properties": properties, "required": ["path"]},
    }
    return {"type": "function", "function": function}


def _messages(wish: str) -> list[dict[str, Any]]:
    call = {
        "id": "call_0123456789abcdef01234567",
        "type": "function",
        "function": {"name": "read_file", "arguments": '{"path":"src/app.py"}'},
    }
    return [
        {"role": "system", "content": "You are a careful programmer. "},
        {"role": "user", "content": "Please have a look at src/app.py."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "print('hallo')\n" * 40},
        {"role": "user", "content": f"Correct the spelling. {wish}"},
    ]


def wish(chunks: int = 200, every_us: int = 0, *, reply: str = "call") -> str:
    """Say in a message how the mock is to answer (see mock.c)."""
    return f"~mock chunks={chunks} every_us={every_us} reply={reply}"


def body(wish: str, *, tools: int = TOOLS, stream: bool = False) -> bytes:
    """Make a chat request of exactly `SIZE` bytes."""
    return padded(lambda padding: chat_request(wish, padding, tools=tools, stream=stream))


def chat_request(
    wish: str, padding: str, *, tools: int = TOOLS, stream: bool = False
) -> dict[str, Any]:
    """Make a chat request, with this text at the end of the system message."""
    request: dict[str, Any] = {"model": "mock-model", "messages": _messages(wish)}
    request["messages"][0]["content"] += padding
    if tools:
        request["tools"] = [_tool(name) for name in _NAMES[:tools]]
    request["stream"] = stream
    return request


def padded(make: Callable[[str], dict[str, Any]]) -> bytes:
    """Encode a request with as much padding as makes it `SIZE` bytes."""
    missing = SIZE - len(_encode(make("")))
    if missing < 0:
        raise ValueError(f"the request is {-missing} bytes larger than {SIZE}")
    return _encode(make(("Keep to the style of the file. " * SIZE)[:missing]))


def _encode(request: dict[str, Any]) -> bytes:
    return json.dumps(request, separators=(",", ":")).encode()
