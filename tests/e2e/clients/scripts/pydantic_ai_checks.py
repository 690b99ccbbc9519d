"""pydantic-ai: an agent run whole and streamed, and structured output."""

import asyncio
import sys
from typing import Any

import workbench
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import FunctionToolCallEvent, PartDeltaEvent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from workbench import TASK, Target

checks = workbench.Checks()
TOOLS = list(workbench.TOOLS.values())


class Report(BaseModel):
    """What was done."""

    result: str


def model_of(target: Target) -> OpenAIChatModel:
    provider = OpenAIProvider(base_url=target.base_url, api_key=target.key)
    return OpenAIChatModel(target.model, provider=provider)


def agent_of(target: Target) -> Agent[object, str]:
    return Agent(model_of(target), tools=TOOLS)


@checks.task
def run(target: Target) -> None:
    agent_of(target).run_sync(TASK)


@checks.task
def run_stream(target: Target) -> None:
    """Every step is streamed, and the last text comes in pieces."""

    async def work() -> str:
        async with agent_of(target).run_stream(TASK) as result:
            return "".join([piece async for piece in result.stream_text(delta=True)])

    if not asyncio.run(work()):
        raise AssertionError("the last turn streamed no text")


@checks.task
def run_stream_events(target: Target) -> None:
    """The events of the whole run: pieces of calls, and the calls themselves."""

    async def work() -> list[Any]:
        async with agent_of(target).run_stream_events(TASK) as events:
            return [event async for event in events]

    events = asyncio.run(work())
    called = [event.part.tool_name for event in events if isinstance(event, FunctionToolCallEvent)]
    if called != list(workbench.TOOLS):
        raise AssertionError(f"calls in the events: {called}")
    if not any(isinstance(event, PartDeltaEvent) for event in events):
        raise AssertionError("no piece was streamed")


@checks.task
def structured_after_tools(target: Target) -> None:
    """Tools with `required`, and a tool for the structured result that ends the run."""
    agent = Agent(model_of(target), tools=TOOLS, output_type=Report)
    assert_report(agent.run_sync(TASK).output)


@checks.plain
def structured(target: Target) -> None:
    """Structured output alone: one strict tool, tool_choice required."""
    assert_report(Agent(model_of(target), output_type=Report).run_sync("report").output)


def assert_report(made: object) -> None:
    if not isinstance(made, Report):
        raise AssertionError(f"wanted a Report, got {made!r}")


if __name__ == "__main__":
    checks.run(sys.argv[1:])
