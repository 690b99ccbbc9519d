"""The file task is played to its end over every client's kind of tools."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.scripted.answer import Answer, Call
from tests.scripted.file_task import CONTENT, DONE, file_task
from tests.scripted.request import ChatRequest

Made = tuple[str, Any]
"""A call: its name and its arguments."""

TEXT: dict[str, Any] = {"type": "string"}
ABSOLUTE = {"type": "string", "description": "The absolute path of the file"}
CHOICE = {"type": "string", "enum": ["view", "create", "str_replace"]}
FILES = {"type": "array", "items": {"type": "object", "properties": {"path": TEXT}}}
SYSTEM = {"role": "system", "content": "You help.\nCurrent working directory: /home/me/project\n"}
USER = {"role": "user", "content": "Write hello.py, read it, run it."}
BASH = "python3 hello.py"


def tool(name: str, required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {**required, **optional}, "required": [*required]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


CLIENTS: dict[str, tuple[list[dict[str, Any]], list[Made]]] = {
    "own tools": (
        [
            tool("write_file", {"path": TEXT, "content": TEXT}),
            tool("read_file", {"path": TEXT}),
            tool("run_command", {"command": TEXT}),
        ],
        [
            ("write_file", {"path": "hello.py", "content": CONTENT}),
            ("read_file", {"path": "hello.py"}),
            ("run_command", {"command": BASH}),
        ],
    ),
    "Cline 3, with a tool that ends the run": (
        [
            tool("read_files", {"files": FILES}),
            tool("run_commands", {"commands": {"type": "array", "items": TEXT}}),
            tool("editor", {"path": ABSOLUTE, "new_text": TEXT}, old_text=TEXT),
            tool("submit_and_exit", {"summary": TEXT, "verified": {"type": "boolean"}}),
        ],
        [
            ("editor", {"path": "/home/me/project/hello.py", "new_text": CONTENT}),
            ("read_files", {"files": [{"path": "hello.py"}]}),
            ("run_commands", {"commands": [BASH]}),
            ("submit_and_exit", {"summary": DONE, "verified": False}),
        ],
    ),
    "Cline 2": (
        [
            tool("execute_command", {"command": TEXT, "requires_approval": {"type": "boolean"}}),
            tool("read_file", {"path": TEXT}, task_progress=TEXT),
            tool("write_to_file", {"absolutePath": ABSOLUTE, "content": TEXT}),
            tool("attempt_completion", {"result": TEXT}, command=TEXT),
        ],
        [
            ("write_to_file", {"absolutePath": "/home/me/project/hello.py", "content": CONTENT}),
            ("read_file", {"path": "hello.py"}),
            ("execute_command", {"command": BASH, "requires_approval": False}),
            ("attempt_completion", {"result": DONE}),
        ],
    ),
    "a shell alone": (
        [tool("shell", {"command": TEXT})],
        [
            ("shell", {"command": f"printf '{CONTENT}' > hello.py"}),
            ("shell", {"command": "cat hello.py"}),
            ("shell", {"command": BASH}),
        ],
    ),
    "one editor for writing and reading": (
        [tool("text_editor", {"command": CHOICE, "path": TEXT}, file_text=TEXT)],
        [
            ("text_editor", {"command": "create", "path": "hello.py", "file_text": CONTENT}),
            ("text_editor", {"command": "view", "path": "hello.py"}),
        ],
    ),
    "a tool for patches": (
        [tool("apply_patch", {"input": TEXT}), tool("bash", {"command": TEXT})],
        [
            (
                "apply_patch",
                {"input": f"*** Begin Patch\n*** Add File: hello.py\n+{CONTENT}*** End Patch\n"},
            ),
            ("bash", {"command": "cat hello.py"}),
            ("bash", {"command": BASH}),
        ],
    ),
    "tools of another trade": (
        [tool("get_weather", {"city": TEXT, "days": {"type": "integer"}}), tool("other", {})],
        [("get_weather", {"city": "city", "days": 1})],
    ),
    "structured output": (
        [tool("get_weather", {"city": TEXT}), tool("final_result", {"answer": TEXT})],
        [("get_weather", {"city": "city"}), ("final_result", {"answer": DONE})],
    ),
}


def history(calls: Iterable[Made]) -> list[dict[str, Any]]:
    return [
        message
        for name, args in calls
        for message in (
            {
                "role": "assistant",
                "tool_calls": [{"function": {"name": name, "arguments": json.dumps(args)}}],
            },
            {"role": "tool", "content": "ok"},
        )
    ]


def ask(tools: list[dict[str, Any]], calls: Sequence[Made] = (), **body: Any) -> Answer:
    messages = [SYSTEM, USER, *history(calls)]
    return file_task(ChatRequest({"messages": messages, "tools": tools, **body}))


OWN = CLIENTS["own tools"][0]


@pytest.mark.parametrize(("tools", "expected"), CLIENTS.values(), ids=CLIENTS)
def test_the_task_is_played_to_its_end(tools: list[dict[str, Any]], expected: list[Made]) -> None:
    calls: list[Made] = []
    while (answer := ask(tools, calls)).calls:
        calls += [(call.name, call.args) for call in answer.calls]
    assert calls == expected
    assert answer == Answer(text=DONE)


def test_a_call_that_was_spoiled_is_made_again() -> None:
    write = ask(OWN)
    assert ask(OWN, [("no_such_tool", {"path": "hello.py"})]) == write
    assert ask(OWN, [("write_file", {})]) == write
    repaired = {"path": "hello.py", "content": CONTENT, "oops": None}
    assert ask(OWN, [("write_file", repaired)]).calls[0].name == "read_file"


def test_reading_and_running_may_share_a_turn_but_writing_may_not() -> None:
    def wide(*calls: Made) -> list[str]:
        body = {"messages": [USER, *history(calls)], "tools": OWN}
        answer = file_task(replace(ChatRequest(body), width=2))
        return [call.name for call in answer.calls]

    assert wide() == ["write_file"]
    written = ("write_file", {"path": "hello.py", "content": CONTENT})
    assert wide(written) == ["read_file", "run_command"]


def test_a_call_without_arguments_comes_first_when_it_is_wished_for() -> None:
    tools = [tool("Exit", {}), *OWN, tool("list_things", {}, filter=TEXT)]
    request = ChatRequest({"messages": [USER], "tools": tools}, wants_bare_call=True)
    assert file_task(request).calls == (Call("list_things", {}),)


def test_the_tool_choice_is_obeyed() -> None:
    named = {"type": "function", "function": {"name": "read_file"}}
    finished = CLIENTS["own tools"][1]
    assert ask(OWN, tool_choice="none").calls == ()
    assert ask(OWN, tool_choice=named).calls == (Call("read_file", {"path": "path"}),)
    assert ask(OWN, finished, tool_choice="required").calls != ()


def test_a_client_that_gets_no_further_is_sent_home() -> None:
    assert ask(OWN, [("other", {})] * 45) == Answer(text=DONE)


def test_a_request_without_tools_gets_a_title_or_the_json_it_asks_for() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert ask([]).text == "Hello file task"
    assert json.loads(ask([], response_format=wanted).text) == {"n": 1}
    assert json.loads(ask([], response_format={"type": "json_object"}).text) == {"ok": True}


def test_clines_xml_dialect_is_spoken_when_its_prompt_teaches_it() -> None:
    prompt = "Tools:\n<write_to_file>...</write_to_file>\n<attempt_completion>..."
    messages = [{"role": "system", "content": prompt}, USER]
    tags = []
    for _ in range(5):
        text = file_task(ChatRequest({"messages": messages})).text
        tags.append(text.split("\n")[2])
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "ok"}]
    assert tags[:3] == ["<write_to_file>", "<read_file>", "<execute_command>"]
    assert tags[3] == "<attempt_completion>"
