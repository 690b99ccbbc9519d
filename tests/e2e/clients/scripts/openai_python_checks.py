"""openai-python: every way its chat completions are used with tools."""

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import openai
import workbench
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageFunctionToolCall
from pydantic import BaseModel, Field
from workbench import MOST_TURNS, TASK, Target

checks = workbench.Checks()

STRING = {"type": "string"}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": inspect.getdoc(tool),
            "parameters": {
                "type": "object",
                "properties": dict.fromkeys(inspect.signature(tool).parameters, STRING),
                "required": list(inspect.signature(tool).parameters),
            },
        },
    }
    for name, tool in workbench.TOOLS.items()
]


class WriteFile(BaseModel):
    """Write a text file."""

    path: str
    content: str


class ReadFile(BaseModel):
    """Read a text file."""

    path: str


class RunCommand(BaseModel):
    """Run a shell command and return what it prints."""

    command: str = Field(description="what to run")


PYDANTIC_TOOLS = [
    openai.pydantic_function_tool(WriteFile, name="write_file"),
    openai.pydantic_function_tool(ReadFile, name="read_file"),
    openai.pydantic_function_tool(RunCommand, name="run_command"),
]


@dataclass(frozen=True)
class Turn:
    """An assistant message as it goes back into the history, and its calls."""

    message: Any
    calls: Iterable[ChatCompletionMessageFunctionToolCall]


@cache
def client_of(target: Target) -> OpenAI:
    return OpenAI(base_url=target.base_url, api_key=target.key, max_retries=0, timeout=30)


def loop(ask: Callable[[list[Any]], Turn]) -> list[Any]:
    """Ask, run the calls, answer them, until the model stops calling."""
    messages: list[Any] = [{"role": "user", "content": TASK}]
    for _ in range(MOST_TURNS):
        turn = ask(messages)
        messages.append(turn.message)
        assert_role(turn.message)
        if not turn.calls:
            return messages
        messages.extend(answer(call) for call in turn.calls)
    raise AssertionError(f"still calling after {MOST_TURNS} turns")


def assert_role(message: Any) -> None:
    """Helpers join strings: a role sent twice becomes `assistantassistant`."""
    role = message["role"] if isinstance(message, dict) else message.role
    if role != "assistant":
        raise AssertionError(f"the answer's role is {role!r}")


def answer(call: ChatCompletionMessageFunctionToolCall) -> dict[str, str]:
    tool = workbench.TOOLS[call.function.name]
    content = tool(**json.loads(call.function.arguments))
    return {"role": "tool", "tool_call_id": call.id, "content": content}


@checks.task
def create(target: Target) -> None:
    """Whole answers; the message object itself goes back."""
    completions = client_of(target).chat.completions

    def ask(messages: list[Any]) -> Turn:
        made = completions.create(model=target.model, messages=messages, tools=TOOLS)
        message = made.choices[0].message
        return Turn(message, message.tool_calls or [])

    loop(ask)


@checks.task
def create_and_echo_every_field(target: Target) -> None:
    """`model_dump()` sends refusal, annotations, audio and function_call back as null."""
    completions = client_of(target).chat.completions

    def ask(messages: list[Any]) -> Turn:
        made = completions.create(model=target.model, messages=messages, tools=TOOLS)
        message = made.choices[0].message
        return Turn(message.model_dump(), message.tool_calls or [])

    loop(ask)


@checks.task
def stream(target: Target) -> None:
    """Raw chunks, put together by index as the API's guide does it."""
    completions = client_of(target).chat.completions

    def ask(messages: list[Any]) -> Turn:
        chunks = completions.create(model=target.model, messages=messages, tools=TOOLS, stream=True)
        return put_together(list(chunks))

    loop(ask)


def put_together(chunks: list[Any]) -> Turn:
    calls: dict[int, dict[str, Any]] = {}
    text = ""
    for delta in (choice.delta for chunk in chunks for choice in chunk.choices):
        text += delta.content or ""
        for piece in delta.tool_calls or []:
            if piece.index not in calls:
                calls[piece.index] = piece.model_dump()
            else:
                calls[piece.index]["function"]["arguments"] += piece.function.arguments
    made = [ChatCompletionMessageFunctionToolCall(**call) for call in calls.values()]
    message = {"role": "assistant", "content": text or None}
    return Turn({**message, "tool_calls": [*calls.values()]} if calls else message, made)


@checks.task
def stream_helper(target: Target) -> None:
    """`.stream()` accumulates for itself and is strict about every chunk."""
    completions = client_of(target).chat.completions

    def ask(messages: list[Any]) -> Turn:
        with completions.stream(model=target.model, messages=messages, tools=TOOLS) as events:
            kinds = {event.type for event in events}
            message = events.get_final_completion().choices[0].message
        if message.tool_calls and "tool_calls.function.arguments.done" not in kinds:
            raise AssertionError(f"a call without its done event: {sorted(kinds)}")
        return Turn(message, message.tool_calls or [])

    loop(ask)


@checks.task
def parse(target: Target) -> None:
    """`.parse()` with strict tools turns arguments into the caller's own types."""
    completions = client_of(target).chat.completions

    def ask(messages: list[Any]) -> Turn:
        made = completions.parse(model=target.model, messages=messages, tools=PYDANTIC_TOOLS)
        message = made.choices[0].message
        for call in message.tool_calls or []:
            assert_parsed(call)
        return Turn(message, message.tool_calls or [])

    loop(ask)


@checks.task
def stream_helper_with_types(target: Target) -> None:
    """`.stream()` with strict tools parses each call as soon as the next one begins."""
    completions = client_of(target).chat.completions

    def ask(messages: list[Any]) -> Turn:
        with completions.stream(
            model=target.model, messages=messages, tools=PYDANTIC_TOOLS
        ) as events:
            message = events.get_final_completion().choices[0].message
        for call in message.tool_calls or []:
            assert_parsed(call)
        return Turn(message, message.tool_calls or [])

    loop(ask)


def assert_parsed(call: Any) -> None:
    parsed = call.function.parsed_arguments
    if not isinstance(parsed, WriteFile | ReadFile | RunCommand):
        raise AssertionError(f"{call.function.name} was parsed into {parsed!r}")


@checks.task
def async_stream(target: Target) -> None:
    """The async client's stream, read chunk by chunk."""

    client = AsyncOpenAI(base_url=target.base_url, api_key=target.key, max_retries=0, timeout=30)

    async def ask_async(messages: list[Any]) -> Turn:
        chunks = await client.chat.completions.create(
            model=target.model, messages=messages, tools=TOOLS, stream=True
        )
        return put_together([chunk async for chunk in chunks])

    with asyncio.Runner() as runner:  # one loop: the client keeps its connections
        loop(lambda messages: runner.run(ask_async(messages)))
        runner.run(client.close())


@checks.plain
def named_tool_choice(target: Target) -> None:
    """The tool that is named is the tool that is called."""
    made = client_of(target).chat.completions.create(
        model=target.model,
        messages=[{"role": "user", "content": TASK}],
        tools=TOOLS,
        tool_choice={"type": "function", "function": {"name": "read_file"}},
    )
    names = [call.function.name for call in made.choices[0].message.tool_calls or []]
    if names != ["read_file"]:
        raise AssertionError(f"asked for read_file, got {names}")


@checks.plain
def usage(target: Target) -> None:
    """Usage comes in the last chunk, which has no choices, and nowhere else."""
    chunks = list(
        client_of(target).chat.completions.create(
            model=target.model,
            messages=[{"role": "user", "content": "hello"}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    if chunks[-1].usage is None or chunks[-1].choices:
        raise AssertionError(f"last chunk: {chunks[-1]!r}")
    if any(chunk.usage for chunk in chunks[:-1]):
        raise AssertionError("usage before the last chunk")


@checks.plain
def models(target: Target) -> None:
    """The list of models can be read and each model looked up."""
    client = client_of(target)
    first = next(iter(client.models.list()))
    if client.models.retrieve(first.id).id != first.id:
        raise AssertionError(f"model {first.id!r} is listed but not found")


@checks.extra
def many(target: Target) -> None:
    """As many calls as the model makes, each in a turn of its own, streamed and not by turns."""
    tool = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    tools: list[Any] = [{"type": "function", "function": {"name": "count", "parameters": tool}}]
    completions = client_of(target).chat.completions
    messages: list[Any] = [{"role": "user", "content": "count"}]
    seen: list[int] = []
    ids: list[str] = []
    while True:
        given: dict[str, Any] = {"model": target.model, "messages": messages, "tools": tools}
        if len(seen) % 2:
            turn = put_together(list(completions.create(**given, stream=True)))
        else:
            message = completions.create(**given).choices[0].message
            turn = Turn(message, message.tool_calls or [])
        messages.append(turn.message)
        if not turn.calls:
            break
        for call in turn.calls:
            seen.append(json.loads(call.function.arguments)["number"])
            ids.append(call.id)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": f"n={seen[-1]}"})
    if len(seen) < 2 or seen != list(range(seen[0], seen[0] + len(seen))):
        raise AssertionError(f"numbers lost, doubled or out of order: {seen}")
    if len(set(ids)) != len(ids):
        raise AssertionError(f"an id was used twice: {ids}")
    sys.stdout.write(f"{len(seen)} calls\n")


if __name__ == "__main__":
    checks.run(sys.argv[1:])
