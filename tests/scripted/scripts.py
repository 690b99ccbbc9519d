"""The scripts: what the model says to a request. Each is a pure function of the request.

`echo`, `many:N`, `file_task`, or a list of turns: `["text", {"calls": [["name", {}]]}, ...]`.
`raw:FORMAT` plays one of them as a model that has no tools and writes its calls as text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.scripted.answer import Answer, Call
from tests.scripted.file_task import file_task
from tests.scripted.raw import Raw, load_raw
from tests.scripted.request import ChatRequest
from tests.scripted.tools import fill_tool

Script = Callable[[ChatRequest], Answer]


def load_script(given: Any) -> Script:
    """Find a script by name (`many:20`), or make one of a list of turns."""
    if callable(given):
        return given  # type: ignore[no-any-return]
    if isinstance(given, dict):
        turns = load_script(given["turns"])
        return load_raw(given["raw"], turns) if "raw" in given else turns
    if isinstance(given, list):
        return Turns(tuple(Answer.from_json(turn) for turn in given))
    name, _, arg = given.partition(":")
    if name not in SCRIPTS:
        raise LookupError(f"no script is called {name!r}; there are {', '.join(SCRIPTS)}")
    return SCRIPTS[name](arg)


@dataclass(frozen=True)
class Turns:
    """Says the given answers one after the other: the turn's number chooses; then the last."""

    answers: tuple[Answer, ...]

    def __call__(self, request: ChatRequest) -> Answer:
        return self.answers[min(request.turn, len(self.answers) - 1)]


@dataclass(frozen=True)
class Many:
    """Calls the first tool `count` times, each time with another number, then says `done`."""

    count: int

    def __call__(self, request: ChatRequest) -> Answer:
        made = sum(1 for _ in request.calls())
        if made >= self.count or not request.tools:
            return Answer(text=f"done after {made} calls")
        numbers = range(made, min(made + request.width, self.count))
        return Answer(calls=tuple(_numbered_call(request, number) for number in numbers))


def echo(request: ChatRequest) -> Answer:
    """Say what the user said last."""
    return Answer(text=(request.texts("user") or [""])[-1])


def _numbered_call(request: ChatRequest, number: int) -> Call:
    tool = request.tools[0]
    return Call(tool["name"], fill_tool(tool, {"*": number}))


def _raw(arg: str) -> Raw:
    how, _, inner = arg.partition("/")
    return load_raw(how, load_script(inner or "file_task"))


SCRIPTS: dict[str, Callable[[str], Script]] = {
    "file_task": lambda _: file_task,
    "echo": lambda _: echo,
    "many": lambda arg: Many(int(arg or 20)),
    "raw": _raw,
}
