"""LangChain: a loop by hand over `bind_tools`, its ready-made agent, and structured output."""

import asyncio
import sys
from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any

import workbench
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from workbench import MOST_TURNS, TASK, Target

checks = workbench.Checks()
TOOLS = [tool(function) for function in workbench.TOOLS.values()]
BY_NAME = {made.name: made for made in TOOLS}
ASKED: Any = {"messages": [HumanMessage(TASK)]}


class Report(BaseModel):
    """What was done."""

    title: str
    lines: int


def model_of(target: Target, **given: Any) -> ChatOpenAI:
    return ChatOpenAI(
        base_url=target.base_url, api_key=target.key, model=target.model, max_retries=0, **given
    )


def loop(ask: Callable[[list[Any]], AIMessage]) -> None:
    messages: list[Any] = [HumanMessage(TASK)]
    for _ in range(MOST_TURNS):
        message = ask(messages)
        if message.invalid_tool_calls:
            raise AssertionError(f"calls LangChain cannot read: {message.invalid_tool_calls}")
        messages.append(message)
        if not message.tool_calls:
            return
        messages.extend(answer(call) for call in message.tool_calls)
    raise AssertionError(f"still calling after {MOST_TURNS} turns")


def answer(call: Any) -> ToolMessage:
    return ToolMessage(BY_NAME[call["name"]].invoke(call["args"]), tool_call_id=call["id"])


@checks.task
def invoke(target: Target) -> None:
    loop(model_of(target).bind_tools(TOOLS).invoke)


@checks.task
def stream(target: Target) -> None:
    """Chunks are added up: LangChain joins strings and merges calls by index."""
    bound = model_of(target).bind_tools(TOOLS)

    def ask(messages: list[Any]) -> AIMessage:
        chunks: list[AIMessageChunk] = list(bound.stream(messages))
        return reduce(add, chunks)

    loop(ask)


@checks.task
def astream(target: Target) -> None:
    async def gather(messages: list[Any]) -> AIMessageChunk:
        bound = model_of(target).bind_tools(TOOLS)
        chunks = [chunk async for chunk in bound.astream(messages)]
        return reduce(add, chunks)

    with asyncio.Runner() as runner:  # LangChain keeps its connections from turn to turn
        loop(lambda messages: runner.run(gather(messages)))


@checks.task
def agent(target: Target) -> None:
    create_agent(model_of(target), TOOLS).invoke(ASKED)


@checks.task
def agent_stream(target: Target) -> None:
    """The agent streams tokens while it works."""
    made = create_agent(model_of(target, streaming=True, stream_usage=True), TOOLS)
    pieces = list(made.stream(ASKED, stream_mode="messages"))
    if not any(isinstance(piece[0], AIMessageChunk) for piece in pieces):
        raise AssertionError("the agent streamed no token")


@checks.plain
def structured_by_call(target: Target) -> None:
    """Structured output by a named tool_choice with parallel_tool_calls off."""
    assert_report(model_of(target).with_structured_output(Report, method="function_calling"))


@checks.plain
def structured_by_schema(target: Target) -> None:
    """Structured output by response_format json_schema."""
    assert_report(model_of(target).with_structured_output(Report, method="json_schema"))


def assert_report(model: Any) -> None:
    made = model.invoke("report")
    if not isinstance(made, Report):
        raise AssertionError(f"wanted a Report, got {made!r}")


if __name__ == "__main__":
    checks.run(sys.argv[1:])
