"""llama-index: its loop by hand, whole and streamed, and its ready-made agent."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import workbench
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from workbench import MOST_TURNS, TASK, Target

checks = workbench.Checks()
TOOLS = [FunctionTool.from_defaults(tool) for tool in workbench.TOOLS.values()]


def model_of(target: Target) -> OpenAILike:
    return OpenAILike(
        model=target.model,
        api_base=target.base_url,
        api_key=target.key,
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
    )


def loop(model: OpenAILike, ask: Callable[[list[ChatMessage]], Any]) -> None:
    messages = [ChatMessage(role="user", content=TASK)]
    for _ in range(MOST_TURNS):
        response = ask(messages)
        messages.append(response.message)
        calls = model.get_tool_calls_from_response(response, error_on_no_tool_call=False)
        if not calls:
            return
        for call in calls:
            said = workbench.TOOLS[call.tool_name](**call.tool_kwargs)
            about = {"tool_call_id": call.tool_id}
            messages.append(ChatMessage(role="tool", content=said, additional_kwargs=about))
    raise AssertionError(f"still calling after {MOST_TURNS} turns")


@checks.task
def whole(target: Target) -> None:
    model = model_of(target)
    loop(model, lambda messages: model.chat_with_tools(TOOLS, chat_history=messages))


@checks.task
def streamed(target: Target) -> None:
    """The last piece has everything that came before it."""
    model = model_of(target)

    def ask(messages: list[ChatMessage]) -> Any:
        *_, last = model.stream_chat_with_tools(TOOLS, chat_history=messages)
        return last

    loop(model, ask)


@checks.task
def agent(target: Target) -> None:
    async def work() -> str:
        return str(await FunctionAgent(tools=TOOLS, llm=model_of(target)).run(user_msg=TASK))

    if not asyncio.run(work()):
        raise AssertionError("the run ended without a text")


if __name__ == "__main__":
    checks.run(sys.argv[1:])
