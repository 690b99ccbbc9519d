"""The script `file_task`: a model that writes hello.py, reads it, runs it and says so.

It plays over whatever tools the client offers, and without memory: what is left to do is what
the history does not hold yet, so a call that a variant has spoiled is simply made again.
"""

import json
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from tests.scripted.answer import Answer, Call
from tests.scripted.cline_xml import play_xml, speaks_xml
from tests.scripted.request import ChatRequest
from tests.scripted.tools import (
    ROLES,
    Schema,
    fill_schema,
    fill_tool,
    find_bare_tool,
    find_tool,
)

FILE = "hello.py"
CONTENT = 'print("hello")\n'
DONE = "I wrote hello.py, read it and ran it: it prints hello."
STEPS = {"write": ("write", "patch"), "read": ("read",), "run": ("run",), "finish": ("finish",)}
"""The steps in order, and the roles that can take each, best first."""
SHELL = {
    "write": f"printf {shlex.quote(CONTENT)} > {FILE}",
    "read": f"cat {FILE}",
    "run": f"python3 {FILE}",
}
ALONE = ("write", "finish")
"""Steps that no other step may run beside."""
ENOUGH = 80
"""Messages after which a client that never gets further is sent home."""

WORKDIR = re.compile(r"(?i)(?:working (?:in the )?directory|\bcwd)\b[^/\n<]{0,40}(/[^\s'\"`<>),]+)")


def file_task(request: ChatRequest) -> Answer:
    """Make the next call of the task, or end it with a text."""
    if not request.tools or request.tool_choice == "none":
        return play_xml(request) if speaks_xml(request) else _plain_text(request)
    named = _named_tool(request)
    if named:
        return Answer(calls=(Call(named["name"], fill_tool(named, {})),))
    calls = _next_calls(request)
    if not calls and request.tool_choice == "required":
        calls = (_any_call(request),)
    return Answer(calls=calls) if calls else Answer(text=DONE)


def _next_calls(request: ChatRequest) -> tuple[Call, ...]:
    if len(request.messages) > ENOUGH:
        return ()
    made = list(request.calls())
    pending = [(role, call) for role, call in _plan(request) if not _is_among(call, made)]
    if pending and pending[0][0] in ALONE:
        return (pending[0][1],)
    together = takewhile(lambda step: step[0] not in ALONE, pending)
    return tuple(call for _, call in together)[: request.width]


def _plan(request: ChatRequest) -> Iterator[tuple[str, Call]]:
    """Every step of the task with its call, in order."""
    bare = find_bare_tool(request.tools) if request.wants_bare_call else None
    if bare:
        yield "bare", Call(bare["name"], {})
    steps = [(step, _call_for(request, step)) for step in STEPS]
    if not bare and not any(call for step, call in steps if step != "finish"):
        yield "any", _any_call(request)
    for step, call in steps:
        if call:
            yield step, call


def _call_for(request: ChatRequest, step: str) -> Call | None:
    """Take a step with a tool made for it, or else with the shell."""
    for role in STEPS[step]:
        tool = find_tool(request.tools, ROLES[role])
        if tool:
            hints = _hints(_path(request, tool))[role]
            return Call(tool["name"], fill_tool(tool, hints, ROLES[role].modes))
    shell = find_tool(request.tools, ROLES["run"])
    if step not in SHELL or not shell:
        return None
    return Call(shell["name"], fill_tool(shell, {"command": SHELL[step]}))


def _hints(path: str) -> dict[str, dict[str, str]]:
    """The values each role is about, by their meaning."""
    return {
        "write": {"path": path, "content": CONTENT},
        "patch": {"patch": f"*** Begin Patch\n*** Add File: {FILE}\n+{CONTENT}*** End Patch\n"},
        "read": {"path": path},
        "run": {"command": SHELL["run"]},
        "finish": {"result": DONE},
    }


def _path(request: ChatRequest, tool: Schema) -> str:
    """Name the file as the tool wants it: absolute if it says so and the prompt tells where."""
    if "absolute" not in json.dumps(tool.get("parameters") or {}).lower():
        return FILE
    for text in request.texts("system", "developer", "user"):
        found = WORKDIR.search(text)
        if found:
            return f"{found[1].rstrip('/.')}/{FILE}"
    return FILE


def _any_call(request: ChatRequest) -> Call:
    tool = request.tools[0]
    return Call(tool["name"], fill_tool(tool, {}))


def _named_tool(request: ChatRequest) -> dict[str, Any] | None:
    if not isinstance(request.tool_choice, dict):
        return None
    name = request.tool_choice.get("function", {}).get("name")
    return next((tool for tool in request.tools if tool.get("name") == name), None)


def _is_among(call: Call, made: list[tuple[str, Any]]) -> bool:
    return any(
        name == call.name and isinstance(args, dict) and call.args.items() <= args.items()
        for name, args in made
    )


def _plain_text(request: ChatRequest) -> Answer:
    """Answer a request without tools: a title, or JSON if a schema is given."""
    asked = request.body.get("response_format") or {}
    if asked.get("type") == "json_schema":
        return Answer(text=json.dumps(fill_schema(asked["json_schema"].get("schema") or {}, {})))
    if asked.get("type") == "json_object":
        return Answer(text='{"ok": true}')
    return Answer(text="Hello file task")
