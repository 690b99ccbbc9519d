"""openai-python: every way its Responses API is used with tools."""

import inspect
import json
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import workbench
from openai import OpenAI
from pydantic import BaseModel
from workbench import MOST_TURNS, TASK, Target

checks = workbench.Checks()

STRING = {"type": "string"}
TOOLS: list[Any] = [
    {
        "type": "function",
        "name": name,
        "description": inspect.getdoc(tool),
        "strict": False,
        "parameters": {
            "type": "object",
            "properties": dict.fromkeys(inspect.signature(tool).parameters, STRING),
            "required": list(inspect.signature(tool).parameters),
        },
    }
    for name, tool in workbench.TOOLS.items()
]


@cache
def client_of(target: Target) -> OpenAI:
    return OpenAI(base_url=target.base_url, api_key=target.key, max_retries=0, timeout=30)


def outputs(response: Any) -> list[Any]:
    """Run the calls of a response."""
    return [
        {
            "type": "function_call_output",
            "call_id": item.call_id,
            "output": workbench.TOOLS[item.name](**json.loads(item.arguments)),
        }
        for item in response.output
        if item.type == "function_call"
    ]


def loop(ask: Callable[[list[Any]], Any]) -> None:
    """Ask, run the calls, send everything again, until the model stops calling."""
    items: list[Any] = [{"role": "user", "content": TASK}]
    for _ in range(MOST_TURNS):
        response = ask(items)
        results = outputs(response)
        if not results:
            assert response.output_text, "the run ended without a text"
            return
        items += [*response.output, *results]
    raise AssertionError(f"still calling after {MOST_TURNS} turns")


@checks.task
def create(target: Target) -> None:
    """Whole answers."""
    responses = client_of(target).responses
    loop(lambda items: responses.create(model=target.model, input=items, tools=TOOLS))


@checks.task
def stream(target: Target) -> None:
    """Raw events; the last one has the response."""
    responses = client_of(target).responses

    def ask(items: list[Any]) -> Any:
        events = responses.create(model=target.model, input=items, tools=TOOLS, stream=True)
        *_, last = events
        assert last.type == "response.completed", last
        return last.response

    loop(ask)


@checks.task
def stream_helper(target: Target) -> None:
    """The helper, which puts the events together itself and raises if they do not fit."""
    responses = client_of(target).responses

    def ask(items: list[Any]) -> Any:
        with responses.stream(model=target.model, input=items, tools=TOOLS) as events:
            return events.get_final_response()

    loop(ask)


@checks.task
def previous_response(target: Target) -> None:
    """Only what is new is sent; the rest is kept by the server."""
    responses = client_of(target).responses
    response = responses.create(model=target.model, input=TASK, tools=TOOLS)
    for _ in range(MOST_TURNS):
        results = outputs(response)
        if not results:
            return
        response = responses.create(
            model=target.model, input=results, previous_response_id=response.id, tools=TOOLS
        )
    raise AssertionError(f"still calling after {MOST_TURNS} turns")


class Weather(BaseModel):
    """An answer."""

    city: str
    degrees: int


@checks.plain
def parse(target: Target) -> None:
    """A structured answer."""
    parsed = client_of(target).responses.parse(
        model=target.model, input="The weather in Paris?", text_format=Weather
    )
    assert isinstance(parsed.output_parsed, Weather)


if __name__ == "__main__":
    checks.run(sys.argv[1:])
