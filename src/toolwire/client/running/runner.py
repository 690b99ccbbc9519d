"""Executes the commands of the loop: one driver for sync programs, one for async ones."""

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from toolwire.client.answer import Chunk, Completion
from toolwire.client.errors import RequestTimeout
from toolwire.client.events import (
    Call,
    CallFinished,
    Deny,
    Event,
    RunFinished,
    RunResult,
)
from toolwire.client.request import Messages, ToolChoice, message_list, runnable
from toolwire.client.running.executor import TaskExecutor, ThreadExecutor
from toolwire.client.running.limits import Limits
from toolwire.client.running.loop import Ask, Decide, Execute, ToolLoop
from toolwire.client.running.results import CallResult
from toolwire.protocol.events import ReasoningDelta, TextDelta

if TYPE_CHECKING:
    from toolwire.client.async_client import AsyncClient
    from toolwire.client.client import Client
    from toolwire.client.conversation import AsyncConversation, Conversation

Decision: TypeAlias = bool | Deny | Mapping[str, Any]
Approve: TypeAlias = Callable[[Call], Decision | Awaitable[Decision]]


@dataclass(frozen=True)
class RunOptions:
    """The options of a run."""

    messages: Messages
    tools: Any = ()
    tool_choice: ToolChoice | None = None
    limits: Limits = field(default_factory=Limits)
    approve: Approve | None = None
    stream: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)
    marks_errors: bool = False
    """Whether results flag failed tools, which only Toolwire's native API supports."""

    def decide(self, call: Call) -> Any:
        """Return the approval hook's decision, or its awaitable."""
        return True if self.approve is None else self.approve(call)

    def loop(self) -> tuple[ToolLoop, Any]:
        """Return the tool loop, and the tool definitions for each request."""
        box = runnable(self.tools)
        loop = ToolLoop(
            message_list(self.messages),
            box,
            limits=self.limits,
            clock=time.monotonic,
            tool_choice=self.tool_choice,
            approves=self.approve is not None,
            marks_errors=self.marks_errors,
        )
        return loop, box


class Run:
    """A run. Iterate over it for events. `result` is available at the end."""

    def __init__(self, client: "Client | Conversation", options: RunOptions) -> None:
        self._client = client
        self._options = options
        self._loop, self._tools = options.loop()
        limits = options.limits
        self._executor = ThreadExecutor(limits.result_chars, limits.concurrency)
        self._result: RunResult | None = None
        self._events = self._drive()

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def result(self) -> RunResult:
        """What came of the run; reads the rest of the events first."""
        for _ in self._events:
            pass
        if self._result is None:
            raise RuntimeError("The run was stopped before its end.")
        return self._result

    def close(self) -> None:
        """Stop the run: the request, and the tools that still run."""
        self._events.close()

    def _drive(self) -> Generator[Event, None, None]:
        steps = self._loop.steps()
        reply: Any = None
        try:
            while True:
                try:
                    step = steps.send(reply)
                except StopIteration:
                    return
                reply = None
                if isinstance(step, Ask):
                    reply = yield from self._ask(step)
                elif isinstance(step, Execute):
                    reply = yield from self._execute(step)
                elif isinstance(step, Decide):
                    reply = self._decide(step.call)
                else:
                    if isinstance(step, RunFinished):
                        self._result = step.result
                    yield step
        finally:
            self._executor.close()

    def _ask(self, ask: Ask) -> Generator[Event, None, Completion]:
        given = _request(self._options, ask, self._tools)
        try:
            if not self._options.stream:
                answer: Completion = self._client.chat(**given)
                return answer
            with self._client.chat(**given, stream=True) as stream:
                for chunk in stream:
                    self._in_time()
                    yield from _deltas(chunk)
                final: Completion = stream.final()
                return final
        except RequestTimeout:
            self._in_time()
            raise

    def _in_time(self) -> None:
        self._loop.check_time()

    def _execute(self, command: Execute) -> Generator[Event, None, list[CallResult]]:
        results: dict[int, CallResult] = {}
        for at, result in self._executor.run(command.jobs):
            results[at] = result
            yield CallFinished(command.jobs[at].call, result)
        return [results[at] for at in range(len(command.jobs))]

    def _decide(self, call: Call) -> Any:
        return self._executor.awaited(self._options.decide(call))


class AsyncRun:
    """A run. Iterate over it for events. `await run.result()` at the end."""

    def __init__(self, client: "AsyncClient | AsyncConversation", options: RunOptions) -> None:
        self._client = client
        self._options = options
        self._loop, self._tools = options.loop()
        limits = options.limits
        self._executor = TaskExecutor(limits.result_chars, limits.concurrency)
        self._result: RunResult | None = None
        self._reply: Any = None
        self._events = self._drive()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def __anext__(self) -> Event:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def result(self) -> RunResult:
        """What came of the run; reads the rest of the events first."""
        async for _ in self._events:
            pass
        if self._result is None:
            raise RuntimeError("The run was stopped before its end.")
        return self._result

    async def aclose(self) -> None:
        """Stop the run: the request, and the tools that still run."""
        await self._events.aclose()  # type: ignore[attr-defined]

    async def _drive(self) -> AsyncIterator[Event]:
        steps = self._loop.steps()
        while True:
            try:
                step = steps.send(self._reply)
            except StopIteration:
                return
            self._reply = None
            if isinstance(step, Ask):
                events = self._ask(step)
            elif isinstance(step, Execute):
                events = self._execute(step)
            elif isinstance(step, Decide):
                self._reply = await self._decide(step.call)
                continue
            else:
                if isinstance(step, RunFinished):
                    self._result = step.result
                yield step
                continue
            try:
                async for event in events:
                    yield event
            finally:
                await events.aclose()  # type: ignore[attr-defined]

    async def _ask(self, ask: Ask) -> AsyncIterator[Event]:
        given = _request(self._options, ask, self._tools)
        try:
            if not self._options.stream:
                async with asyncio.timeout(ask.seconds):
                    self._reply = await self._client.chat(**given)
                return
            stream = await self._client.chat(**given, stream=True)
            async with stream:
                async for chunk in stream:
                    self._loop.check_time()
                    for event in _deltas(chunk):
                        yield event
                self._reply = await stream.final()
        except TimeoutError:
            raise self._loop.too_long() from None
        except RequestTimeout:
            self._loop.check_time()
            raise

    async def _execute(self, command: Execute) -> AsyncIterator[Event]:
        results: dict[int, CallResult] = {}
        finished = self._executor.run(command.jobs)
        try:
            async for at, result in finished:
                results[at] = result
                yield CallFinished(command.jobs[at].call, result)
        finally:
            await finished.aclose()  # type: ignore[attr-defined]
        self._reply = [results[at] for at in range(len(command.jobs))]

    async def _decide(self, call: Call) -> Any:
        if inspect.iscoroutinefunction(self._options.approve):
            return await self._options.decide(call)
        # A hook that prompts the user would block the event loop.
        decision: Any = await asyncio.to_thread(self._options.decide, call)
        return await decision if inspect.isawaitable(decision) else decision


def _request(options: RunOptions, ask: Ask, tools: Any) -> dict[str, Any]:
    given = {**options.request, "messages": ask.messages, "tools": tools}
    if ask.tool_choice is not None and len(tools):
        given["tool_choice"] = ask.tool_choice
    if ask.seconds is not None:
        own = given.get("timeout")
        given["timeout"] = ask.seconds if own is None else min(own, ask.seconds)
    return given


def _deltas(chunk: Chunk) -> Iterator[Event]:
    if not chunk.choices:
        return
    delta = chunk.choices[0].delta
    if reasoning := delta.reasoning_content or delta.reasoning:
        yield ReasoningDelta(reasoning)
    if delta.content:
        yield TextDelta(delta.content)
