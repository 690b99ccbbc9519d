"""anthropic-python: every way its messages are used with tools."""

import inspect
import json
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import workbench
from anthropic import Anthropic, BadRequestError, beta_tool
from pydantic import BaseModel
from workbench import MOST_TURNS, TASK, Target

checks = workbench.Checks()

STRING = {"type": "string"}
TOOLS: list[Any] = [
    {
        "name": name,
        "description": inspect.getdoc(tool),
        "input_schema": {
            "type": "object",
            "properties": dict.fromkeys(inspect.signature(tool).parameters, STRING),
            "required": list(inspect.signature(tool).parameters),
        },
    }
    for name, tool in workbench.TOOLS.items()
]
RUNNABLE = [beta_tool(tool) for tool in workbench.TOOLS.values()]


class Title(BaseModel):
    """The form of an answer."""

    title: str


@cache
def client_of(target: Target) -> Anthropic:
    """A client that never tries again: one answer must do."""
    url = target.base_url.removesuffix("/v1")
    return Anthropic(base_url=url, api_key=target.key, max_retries=0, timeout=30)


def loop(target: Target, ask: Callable[[dict[str, Any]], Any], **fields: Any) -> None:
    """Ask, run the calls, answer them in one message, until the model stops calling."""
    messages: list[Any] = [{"role": "user", "content": TASK}]
    body = {"model": target.model, "max_tokens": 1000, "tools": TOOLS, **fields}
    for _ in range(MOST_TURNS):
        answer = ask({**body, "messages": messages})
        messages.append({"role": "assistant", "content": answer.content})
        if answer.stop_reason != "tool_use":
            return
        calls = [block for block in answer.content if block.type == "tool_use"]
        results = [(call.id, workbench.TOOLS[call.name](**call.input)) for call in calls]
        blocks = [{"type": "tool_result", "tool_use_id": i, "content": said} for i, said in results]
        messages.append({"role": "user", "content": blocks})
    raise AssertionError(f"still calling after {MOST_TURNS} turns")


@checks.task
def create(target: Target) -> None:
    """Whole answers."""
    loop(target, lambda body: client_of(target).messages.create(**body))


@checks.task
def create_with_thinking(target: Target) -> None:
    """Thinking goes back with the calls."""
    thinking = {"type": "adaptive"}
    loop(target, lambda body: client_of(target).messages.create(**body), thinking=thinking)


@checks.task
def old_headers(target: Target) -> None:
    """As clients of years ago send it."""
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "any-2020-01-01"}
    old = {"extra_headers": headers, "extra_body": {"temperature": 0.5, "top_k": 5}}
    loop(target, lambda body: client_of(target).messages.create(**body, **old))


@checks.task
def stream_helper(target: Target) -> None:
    """Its own accumulation of a stream."""

    def ask(body: dict[str, Any]) -> Any:
        with client_of(target).messages.stream(**body) as stream:
            return stream.get_final_message()

    loop(target, ask)


@checks.task
def raw_stream(target: Target) -> None:
    """The events, put together by hand."""

    def ask(body: dict[str, Any]) -> Any:
        pieces: dict[int, str] = {}
        with client_of(target).messages.create(**body, stream=True) as events:
            kinds = []
            for event in events:
                kinds.append(event.type)
                if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                    pieces[event.index] = pieces.get(event.index, "") + event.delta.partial_json
        for text in pieces.values():
            json.loads(text)
        assert kinds[0] == "message_start"
        assert kinds[-2:] == ["message_delta", "message_stop"]
        return client_of(target).messages.create(**body)

    loop(target, ask)


def run_tools(target: Target, **options: Any) -> None:
    """The tool runner, which keeps its conversation on the server if that can do it."""
    runner = client_of(target).beta.messages.tool_runner(
        model=target.model,
        max_tokens=1000,
        tools=RUNNABLE,
        messages=[{"role": "user", "content": TASK}],
        **options,
    )
    if options.get("stream"):
        for stream in runner:
            stream.get_final_message()
    else:
        runner.until_done()


@checks.task
def tool_runner(target: Target) -> None:
    """With a thread, which is refused: the runner sends the whole conversation instead."""
    run_tools(target)


@checks.task
def tool_runner_streamed(target: Target) -> None:
    """The same, streamed."""
    run_tools(target, stream=True)


@checks.task
def tool_runner_without_a_thread(target: Target) -> None:
    """As older versions do it."""
    run_tools(target, thread=False)


@checks.plain
def parse(target: Target) -> None:
    """Structured output."""
    messages: Any = [{"role": "user", "content": "A title, please."}]
    answer = client_of(target).messages.parse(
        model=target.model, max_tokens=100, messages=messages, output_format=Title
    )
    assert isinstance(answer.parsed_output, Title)


@checks.plain
def count_tokens(target: Target) -> None:
    """Counts grow with what is counted."""
    messages: Any = [{"role": "user", "content": TASK}]
    count = client_of(target).messages.count_tokens
    few = count(model=target.model, messages=messages).input_tokens
    assert 0 < few < count(model=target.model, messages=messages, tools=TOOLS).input_tokens


@checks.plain
def models(target: Target) -> None:
    """Every model that is listed is found."""
    client = client_of(target)
    first = client.models.list().data[0]
    assert client.models.retrieve(first.id).id == first.id


@checks.plain
def an_error_is_its_own(target: Target) -> None:
    """With the message and the id of the request."""
    bad: Any = [{"name": "x"}]
    messages: Any = [{"role": "user", "content": TASK}]
    body: Any = {"model": target.model, "max_tokens": 9, "messages": messages, "tools": bad}
    error = _error_of(lambda: client_of(target).messages.create(**body))
    assert "tools.0.input_schema" in str(error)
    assert (error.request_id or "").startswith("req_")


def _error_of(ask: Callable[[], Any]) -> BadRequestError:
    try:
        ask()
    except BadRequestError as error:
        return error
    raise AssertionError("nothing was refused")


@checks.extra
def many(target: Target) -> None:
    """Twenty calls, each with its result."""
    loop(target, lambda body: client_of(target).messages.create(**body))


if __name__ == "__main__":
    checks.run(sys.argv[1:])
