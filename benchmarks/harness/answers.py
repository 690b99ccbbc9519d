"""Does a subject answer correctly? Asked once, before its speed is of any interest."""

import http.client
import json
from typing import Any

from harness.payload import body, wish
from harness.subjects import KEY, Subject

CHUNKS = 20


def check_answers(subject: Subject) -> None:
    """End the benchmark unless the mock's call arrives, whole and as a stream."""
    whole = json.loads(_ask(subject, stream=False))
    call = whole["choices"][0]["message"]["tool_calls"][0]["function"]
    _check_call(subject, call["name"], call["arguments"])
    events = _ask(subject, stream=True).split("\n\n")
    if "data: [DONE]" not in events:
        raise SystemExit(f"{subject.name}: the stream does not end with [DONE]")
    datas = [json.loads(event[6:]) for event in events if event.startswith("data: {")]
    functions = [part["function"] for data in datas for part in _call_parts(data)]
    arguments = "".join(function.get("arguments") or "" for function in functions)
    _check_call(subject, functions[0].get("name"), arguments)
    if len(functions) < 0.9 * CHUNKS:
        raise SystemExit(f"{subject.name}: {CHUNKS} chunks became {len(functions)}: not live")


def _call_parts(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for choice in data["choices"] for part in choice["delta"].get("tool_calls") or ()]


def _check_call(subject: Subject, name: str | None, arguments: str) -> None:
    if name != "write_file" or json.loads(arguments).get("path") != "src/app.py":
        raise SystemExit(f"{subject.name}: the call came back as {name}({arguments})")


def _ask(subject: Subject, *, stream: bool) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", subject.port, timeout=10)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    content = body(wish(chunks=CHUNKS, every_us=1000), stream=stream)
    connection.request("POST", "/v1/chat/completions", content, headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    if response.status != 200:
        raise SystemExit(f"{subject.name}: {response.status} {text}")
    return text
