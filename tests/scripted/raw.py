"""The script `raw:FORMAT`: a model that knows nothing of tools but what its prompt says.

It reads the tools from the system prompt and its own earlier calls from what it is shown to have
said, asks another script what to do, and writes the calls as text in its format. `tools` in the
request mean nothing to it. `raw:hermes`, `raw:hermes,prose,no_end`, `raw:hermes/many:20`, or
`{"raw": "hermes", "turns": [...]}`.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tests.scripted.answer import Answer
from tests.scripted.raw_formats import RAW_FORMATS, SLIPS, RawFormat, written
from tests.scripted.request import ChatRequest, JsonObject, text_of

_NAMED = re.compile(r"must call the tool (\S+) now")
_DEMANDED = "must call at least one"


@dataclass(frozen=True)
class Raw:
    """Plays `inner` as a model that writes `form`, with these slips."""

    form: RawFormat
    inner: Callable[[ChatRequest], Answer]
    slips: frozenset[str] = frozenset()

    def __call__(self, request: ChatRequest) -> Answer:
        answer = self.inner(understood(request, self.form))
        text = written(self.form, answer.text, answer.calls, self.slips)
        return replace(answer, text=text, calls=())


def load_raw(how: str, inner: Callable[[ChatRequest], Answer]) -> Raw:
    """Make the model of `FORMAT` or `FORMAT,SLIP,...`."""
    name, *slips = how.split(",")
    if name not in RAW_FORMATS:
        raise LookupError(f"no raw format is called {name!r}; there are {', '.join(RAW_FORMATS)}")
    if unknown := set(slips) - set(SLIPS):
        raise LookupError(f"no slip is called {unknown.pop()!r}; there are {', '.join(SLIPS)}")
    return Raw(RAW_FORMATS[name], inner, frozenset(slips))


def understood(request: ChatRequest, form: RawFormat) -> ChatRequest:
    """The request as the model understands it: tools and calls where it sees only text."""
    body = {key: value for key, value in request.body.items() if key != "tools"}
    body["messages"] = [_remembered(message, form) for message in request.messages]
    body["tools"] = [{"type": "function", "function": tool} for tool in offered(request)]
    body["tool_choice"] = _demanded(request)
    return replace(request, body=body)


def offered(request: ChatRequest) -> Iterator[JsonObject]:
    """The tools that the system prompt describes: lines that are JSON objects."""
    for line in "\n".join(request.texts("system", "developer")).split("\n"):
        # The description tells a tool from an example of a call.
        if line.startswith('{"name"') and '"description"' in line and '"parameters"' in line:
            yield json.loads(line)


def _demanded(request: ChatRequest) -> Any:
    """What the prompt says must be called, in the words of the API."""
    text = "\n".join(request.texts("system", "developer", "user"))
    if named := _NAMED.search(text):
        return {"type": "function", "function": {"name": named[1]}}
    return "required" if _DEMANDED in text else "auto"


def _remembered(message: JsonObject, form: RawFormat) -> JsonObject:
    if message.get("role") != "assistant":
        return message
    calls = [
        {"function": {"name": name, "arguments": json.dumps(args)}}
        for name, args in form.read(text_of(message))
    ]
    return {**message, "tool_calls": calls}
