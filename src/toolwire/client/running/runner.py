"""Executes the commands of the loop: one driver for sync programs, one for async ones."""

import asyncio
import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterator,
    Mapping,
)
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self, TypeAlias

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

Decision: TypeAlias = bool | Deny | Mapping[str, Any]
Approve: TypeAlias = Callable[[Call], Decision | Awaitable[Decision]]


@dataclass(frozen=True)
class RunOptions:
    """The options of a run."""

    messages: Messages
    tools: Any = ()
    tool_choice: ToolChoice | None = None
    limits: Limits | None = None
    approve: Approve | None = None
    stream: bool = False
    request: Mapping[str, Any] = field(default_factory=dict)
    marks_errors: bool = False
    """Whether results flag failed tools, which only Toolwire's native API supports."""

    def decide(self, call: Call) -> Any:
        """Return the approval hook's decision, or its awaitable."""
        return True if self.approve is None else self.approve(call)


class Chats(Protocol):
    """What a run asks: a client or a conversation."""

    _marks_errors: ClassVar[bool]

    @property
    def chat(self) -> Callable[..., Any]:
        """Sends one request."""
        ...


class _Run(ABC):
    """The base of both runs. `_events` are what `_drive` yields."""

    _executes: ClassVar[type[ThreadExecutor | TaskExecutor]]
    _executor: Any
    _events: Any

    def __init__(self, client: Chats, options: RunOptions) -> None:
        self._client = client
        self._options = options
        self._tools = runnable(options.tools)
        limits = options.limits or Limits()
        self._loop = ToolLoop(
            message_list(options.messages),
            self._tools,
            limits=limits,
            clock=time.monotonic,
            tool_choice=options.tool_choice,
            approves=options.approve is not None,
            marks_errors=options.marks_errors,
        )
        self._executor = self._executes(limits.result_chars, limits.concurrency)
        self._result: RunResult | None = None
        self._events = self._drive()

    @abstractmethod
    def _drive(self) -> Any: ...

    def _end(self) -> RunResult:
        if self._result is None:
            raise RuntimeError("The run was stopped before its end.")
        return self._result

    def _request(self, ask: Ask) -> dict[str, Any]:
        given = {**self._options.request, "messages": ask.messages, "tools": self._tools}
        if ask.tool_choice is not None and len(self._tools):
            given["tool_choice"] = ask.tool_choice
        if ask.seconds is not None:
            own = given.get("timeout")
            given["timeout"] = ask.seconds if own is None else min(own, ask.seconds)
        return given


class Run(_Run):
    """A run. Iterate over it for events. `result` is available at the end."""

    _executes = ThreadExecutor
    _executor: ThreadExecutor
    _events: Generator[Event, None, None]

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def result(self) -> RunResult:
        """What came of the run; reads the rest of the events first."""
        for _ in self._events:
            pass
        return self._end()

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
        given = self._request(ask)
        try:
            if not self._options.stream:
                answer: Completion = self._client.chat(**given)
                return answer
            with self._client.chat(**given, stream=True) as stream:
                for chunk in stream:
                    self._loop.check_time()
                    yield from _deltas(chunk)
                final: Completion = stream.final()
                return final
        except RequestTimeout:
            self._loop.check_time()
            raise

    def _execute(self, command: Execute) -> Generator[Event, None, list[CallResult]]:
        results: dict[int, CallResult] = {}
        for at, result in self._executor.run(command.jobs):
            results[at] = result
            yield CallFinished(command.jobs[at].call, result)
        return [results[at] for at in range(len(command.jobs))]

    def _decide(self, call: Call) -> Any:
        return self._executor.awaited(self._options.decide(call))


class Runs:
    """The base of what can run tools: the client, and a conversation."""

    _marks_errors: ClassVar[bool] = False

    def run(
        self: Chats,
        messages: Messages,
        tools: Any = (),
        *,
        limits: Limits | None = None,
        approve: Approve | None = None,
        on_event: Callable[[Event], Any] | None = None,
        stream: bool = False,
        tool_choice: ToolChoice | None = None,
        **request: Any,
    ) -> RunResult:
        """Let the model use the tools until it answers with text.

        limits: the limits of the run.
        approve: called before each call; returns True, False, `Deny(reason)`, or other arguments.
        on_event: called with every event, for logging.
        Any other parameter is passed to each request, as in `chat`.
        """
        options = RunOptions(
            messages, tools, tool_choice, limits, approve, stream, request, self._marks_errors
        )
        with Run(self, options) as run:
            for event in run:
                if on_event is not None:
                    on_event(event)
            return run.result


class AsyncRun(_Run):
    """A run. Iterate over it for events. `await run.result()` at the end."""

    _executes = TaskExecutor
    _executor: TaskExecutor
    _events: AsyncGenerator[Event, None]
    _reply: Any = None

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._events

    async def __anext__(self) -> Event:
        return await anext(self._events)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def result(self) -> RunResult:
        """What came of the run; reads the rest of the events first."""
        async for _ in self._events:
            pass
        return self._end()

    async def aclose(self) -> None:
        """Stop the run: the request, and the tools that still run."""
        await self._events.aclose()

    async def _drive(self) -> AsyncGenerator[Event, None]:
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
                await events.aclose()

    async def _ask(self, ask: Ask) -> AsyncGenerator[Event, None]:
        given = self._request(ask)
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

    async def _execute(self, command: Execute) -> AsyncGenerator[Event, None]:
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


class AsyncRuns:
    """The same as `Runs`, with `await`."""

    _marks_errors: ClassVar[bool] = False

    async def run(
        self: Chats,
        messages: Messages,
        tools: Any = (),
        *,
        limits: Limits | None = None,
        approve: Approve | None = None,
        on_event: Callable[[Event], Any] | None = None,
        stream: bool = False,
        tool_choice: ToolChoice | None = None,
        **request: Any,
    ) -> RunResult:
        """Let the model use the tools until it answers with text.

        limits: the limits of the run.
        approve: called before each call; returns True, False, `Deny(reason)`, or other arguments.
        on_event: called with every event, for logging.
        Any other parameter is passed to each request, as in `chat`.
        """
        options = RunOptions(
            messages, tools, tool_choice, limits, approve, stream, request, self._marks_errors
        )
        async with AsyncRun(self, options) as run:
            async for event in run:
                if on_event is not None:
                    told = on_event(event)
                    if inspect.isawaitable(told):
                        await told
            return await run.result()


def _deltas(chunk: Chunk) -> Iterator[Event]:
    if not chunk.choices:
        return
    delta = chunk.choices[0].delta
    if reasoning := delta.reasoning_content or delta.reasoning:
        yield ReasoningDelta(reasoning)
    if delta.content:
        yield TextDelta(delta.content)
