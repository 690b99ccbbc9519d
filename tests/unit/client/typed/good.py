"""A user's program, which mypy and pyright must understand. It is checked, and not run."""

import asyncio
import functools
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, assert_type

from toolwire import AsyncClient, Client, Limits, Tool, Toolbox, tool
from toolwire.client import (
    AsyncStream,
    Call,
    CallFinished,
    Completion,
    Deny,
    Event,
    RunResult,
    Stream,
    TextDelta,
    ToolCall,
)


@dataclass
class Place:
    city: str


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


@tool(name="find_place", exclusive=True, timeout=5)
async def find(place: Place, *, exact: bool = False) -> list[str]:
    return [place.city if exact else ""]


class Shop:
    @tool
    def count(self, item: str) -> int:
        return len(item)


assert_type(add(1), int)
assert_type(add(1, b=2), int)
assert_type(add.name, str)
found: Coroutine[Any, Any, list[str]] = find(Place("x"), exact=True)
assert_type(Shop().count("pen"), int)
count: Tool[[str], int] = Shop().count
halved = tool(functools.partial(add, 1))
assert_type(halved(2), int)

box = Toolbox(add, find, Shop(), len)
assert_type(box.names, list[str])

client = Client("http://127.0.0.1:8181/v1", model="m", timeout=5.0, proxy="http://proxy")
messages = [{"role": "user", "content": "Hi."}]
answer = client.chat(messages, tools=[add], tool_choice=add, temperature=0, seed=1)
assert_type(answer, Completion)
assert_type(answer.choices[0].message.content, str | None)
assert_type(answer.choices[0].message.tool_calls, list[ToolCall] | None)
assert_type(answer.text, str)
messages_too = [*messages, answer.message]

stream = client.chat(messages=messages_too, stream=True)
assert_type(stream, Stream)
for chunk in stream:
    assert_type(chunk.choices[0].delta.content, str | None)
assert_type(stream.final(), Completion)


def approve(call: Call) -> bool | Deny | dict[str, Any]:
    return {"a": 2} if call.name == "add" else Deny("no")


def on_event(event: Event) -> None:
    if isinstance(event, TextDelta):
        assert_type(event.text, str)
    if isinstance(event, CallFinished):
        assert_type(event.result.seconds, float)


result = client.run(
    "Hi.", tools=[add, find], limits=Limits(turns=3), approve=approve, on_event=on_event, top_p=1
)
assert_type(result, RunResult)
assert_type(result.text, str)
with client.steps("Hi.", [add]) as run:
    for event in run:
        on_event(event)
    assert_type(run.result, RunResult)


async def main() -> None:
    async with AsyncClient() as client:
        assert_type(await client.chat("Hi."), Completion)
        assert_type(await client.chat("Hi.", stream=True), AsyncStream)
        assert_type(await client.run("Hi.", tools=box), RunResult)
        async with client.steps("Hi.", tools=box) as run:
            async for event in run:
                on_event(event)


asyncio.run(main())
