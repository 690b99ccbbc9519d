"""openai-agents: run, streamed, structured and chained, over the Responses API."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import workbench
from agents import (
    Agent,
    ModelSettings,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel
from workbench import MOST_TURNS, TASK, Target

checks = workbench.Checks()
set_tracing_disabled(disabled=True)

TOOLS = [function_tool(tool) for tool in workbench.TOOLS.values()]


def work(target: Target, act: Callable[[Agent[Any]], Coroutine[Any, Any, Any]], **more: Any) -> Any:
    """Have an agent do something, and close its connections."""

    async def worked() -> Any:
        async with AsyncOpenAI(
            base_url=target.base_url, api_key=target.key, max_retries=0, timeout=30
        ) as client:
            model = OpenAIResponsesModel(model=target.model, openai_client=client)
            agent = Agent(name="tester", instructions="Do the task.", model=model, **more)
            return await act(agent)

    output = asyncio.run(worked())
    assert output, "the run ended without a text"
    return output


async def run_task(agent: Agent[Any], **more: Any) -> Any:
    return (await Runner.run(agent, TASK, max_turns=MOST_TURNS, **more)).final_output


@checks.task
def run(target: Target) -> None:
    """Whole answers; all items go back each time."""
    work(target, run_task, tools=TOOLS)


@checks.task
def streamed(target: Target) -> None:
    """Streamed answers."""

    async def act(agent: Agent[Any]) -> Any:
        result = Runner.run_streamed(agent, TASK, max_turns=MOST_TURNS)
        async for _ in result.stream_events():
            pass
        return result.final_output

    work(target, act, tools=TOOLS)


@checks.task
def chained(target: Target) -> None:
    """Only new items are sent: against a server that keeps nothing, this never ends."""
    work(target, partial(run_task, auto_previous_response_id=True), tools=TOOLS)


@checks.task
def stateless(target: Target) -> None:
    """Nothing is kept, and reasoning comes back with the items."""
    settings = ModelSettings(store=False, response_include=["reasoning.encrypted_content"])
    work(target, run_task, tools=TOOLS, model_settings=settings)


class City(BaseModel):
    """An answer."""

    name: str


@checks.plain
def structured(target: Target) -> None:
    """A structured answer."""
    assert isinstance(work(target, run_task, output_type=City), City)


if __name__ == "__main__":
    checks.run(sys.argv[1:])
