"""The tool loop as a sans-I/O state machine: no I/O, no threads, no clock.

`steps()` yields events, which are passed on, and commands, which a driver executes:

    Ask      -> the driver sends a request and returns the answer
    Decide   -> the driver calls the approval hook and returns its decision
    Execute  -> the driver runs the jobs concurrently and returns their results, in order

`runner.py` has a driver with threads and one with tasks.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from toolwire.client.answer import Completion, Function, Message, ToolCall, Usage
from toolwire.client.errors import ClientError, InvalidArguments, LimitReached, UnknownTool
from toolwire.client.events import (
    Call,
    CallFinished,
    CallStarted,
    Deny,
    Event,
    FinishedCall,
    LimitName,
    RunFinished,
    RunResult,
    TurnFinished,
    TurnStarted,
)
from toolwire.client.request import ToolChoice
from toolwire.client.running.limits import Limits
from toolwire.client.running.results import (
    CallResult,
    error_of,
    image_message,
    tool_message,
    unfit_arguments,
)
from toolwire.client.tools.tool import decoded
from toolwire.client.tools.toolbox import AnyTool, Toolbox
from toolwire.client.wire import new_call_id

_FREE = ("auto", "none", None)
_QUOTED = 1000


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model. `seconds` is the remaining time of the run."""

    messages: list[Any]
    tool_choice: ToolChoice | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Decide:
    """Ask for approval of a call: True, False, `Deny`, or a dict of other arguments."""

    call: Call


@dataclass(slots=True)
class Job:
    """A pending call: the tool and its arguments, or already a result."""

    call: Call
    tool: AnyTool | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: CallResult | None = None
    note: str = ""
    seconds: float | None = None

    @property
    def runnable(self) -> AnyTool:
        """The tool of a job. Jobs without one already have a result and are never run."""
        if self.tool is None:
            raise UnknownTool(self.call.name)
        return self.tool


@dataclass(frozen=True, slots=True)
class Execute:
    """Run these jobs concurrently."""

    jobs: Sequence[Job]


Step: TypeAlias = Event | Ask | Decide | Execute


class ToolLoop:
    """One run. Drive `steps()` until it yields `RunFinished`."""

    def __init__(
        self,
        messages: Sequence[Any],
        tools: Toolbox,
        *,
        limits: Limits,
        clock: Callable[[], float],
        tool_choice: ToolChoice | None = None,
        approves: bool = False,
        marks_errors: bool = False,
    ) -> None:
        self._messages = list(messages)
        self._tools = tools
        self._limits = limits
        self._clock = clock
        self._choice = tool_choice
        self._approves = approves
        self._marks_errors = marks_errors
        self._began = clock()
        self._turn = 0
        self._calls: list[FinishedCall] = []
        self._usage = Usage()
        self._ids = set(_call_ids(messages))

    def steps(self) -> Generator[Step, Any, None]:
        """Yield the events and commands of the run."""
        while True:
            self._turn += 1
            limit = self._reached()
            yield TurnStarted(self._turn, last=limit is not None)
            answer: Completion = yield self._ask(last=limit is not None)
            message = self._take(answer)
            yield TurnFinished(self._turn, answer)
            if not message.tool_calls or limit is not None:
                stopped = limit if len(self._tools) or message.tool_calls else None
                yield RunFinished(self._result(answer, stopped))
                return
            yield from self._make_calls(message.tool_calls)

    def _reached(self) -> LimitName | None:
        """Return the limit that makes this turn the last, if any."""
        limits = self._limits
        if limits.tokens is not None and self._usage.total_tokens >= limits.tokens:
            return "tokens"
        if len(self._calls) >= limits.calls:
            return "calls"
        return "turns" if self._turn >= limits.turns else None

    def _ask(self, *, last: bool) -> Ask:
        choice = self._choice
        if self._turn > 1 and choice not in _FREE:
            choice = None  # the required call was made; requiring it again would loop forever
        return Ask(list(self._messages), "none" if last else choice, self._left())

    def _take(self, answer: Completion) -> Message:
        message = answer.message
        for call in message.tool_calls or ():
            if not call.id or call.id in self._ids:
                call.id = new_call_id()
            self._ids.add(call.id)
        self._usage += answer.usage or Usage()
        self._messages.append(_for_history(message))
        return message

    def _result(self, answer: Completion, limit: LimitName | None) -> RunResult:
        return RunResult(
            text=answer.text,
            messages=self._messages,
            answer=answer,
            calls=tuple(self._calls),
            turns=self._turn,
            usage=self._usage,
            stopped_by=limit,
        )

    def _make_calls(self, calls: Sequence[ToolCall]) -> Generator[Step, Any, None]:
        room = self._limits.calls - len(self._calls)
        jobs = [self._prepare(call, over=at >= room) for at, call in enumerate(calls)]
        for job in jobs:
            if job.result is None and self._approves:
                self._decide(job, (yield Decide(job.call)))
            if job.result is not None:
                yield CallFinished(job.call, job.result)
        for group in _groups([job for job in jobs if job.result is None]):
            yield from self._execute(group)
        self._answer_calls(jobs)

    def _execute(self, group: Sequence[Job]) -> Generator[Step, Any, None]:
        left = self._left()
        for job in group:
            own = job.tool.timeout if job.tool else None
            times = (self._limits.tool_seconds if own is None else own, left)
            job.seconds = min((one for one in times if one is not None), default=None)
            yield CallStarted(job.call)
        results: Sequence[CallResult] = yield Execute(group)
        for job, result in zip(group, results, strict=True):
            job.result = result
        self._left()

    def _prepare(self, call: ToolCall, *, over: bool) -> Job:
        """Find the tool and convert the arguments. An error becomes the result."""
        limit = self._limits.result_chars
        job = Job(Call(call.id, call.function.name, {}))
        try:
            job.tool = self._tools[call.function.name]
            self._convert(job, call.function.arguments)
        except UnknownTool as error:
            job.result = error_of(str(error)[:_QUOTED], limit)
        except InvalidArguments as error:
            job.result = unfit_arguments(error, limit)
        if over:
            job.result = error_of(f"the limit of {self._limits.calls} tool calls is reached", limit)
        return job

    def _convert(self, job: Job, arguments: str | Mapping[str, Any]) -> None:
        given = decoded(arguments)
        job.call = Call(job.call.id, job.call.name, given)
        job.arguments = job.runnable.convert(given)

    def _decide(self, job: Job, decision: Any) -> None:
        if decision is True:
            return
        if decision is False:
            decision = Deny()
        if isinstance(decision, Deny):
            job.result = error_of(decision.reason, self._limits.result_chars)
        elif isinstance(decision, Mapping):
            try:
                self._convert(job, decision)
            except InvalidArguments as error:
                raise ClientError(f"approve() changed the arguments wrongly: {error}") from None
            job.note = "(The user changed the arguments before the call was made.)\n"
        else:
            raise TypeError(
                f"approve() returned {decision!r}. Return True, False, Deny('reason'), or a dict "
                "of other arguments."
            )

    def _answer_calls(self, jobs: Sequence[Job]) -> None:
        finished = [(job, job.result) for job in jobs if job.result is not None]
        for job, result in finished:
            message = tool_message(job.call.id, result)
            message["content"] = job.note + message["content"]
            if self._marks_errors and result.is_error:
                message["is_error"] = True
            self._messages.append(message)
            self._calls.append(FinishedCall(job.call, result))
        if shown := image_message([(job.call.name, result) for job, result in finished]):
            self._messages.append(shown)

    def check_time(self) -> None:
        """Raise if the run has taken longer than its limit."""
        self._left()

    def _left(self) -> float | None:
        """Return the remaining seconds of the run; raises if there are none."""
        most = self._limits.seconds
        if most is None:
            return None
        left = most - (self._clock() - self._began)
        if left <= 0:
            raise self.too_long()
        return left

    def too_long(self) -> LimitReached:
        """Return the error for a run that exceeds its time limit."""
        return LimitReached(
            f"The run took longer than its limit of {self._limits.seconds:g} s.", self._messages
        )


def _for_history(message: Message) -> Message:
    """Return the message for the history. Servers fail on arguments that are not a JSON object."""
    calls = [
        ToolCall(call.id, Function(call.function.name, _as_object(call.function.arguments)))
        for call in message.tool_calls or ()
    ]
    return Message("assistant", message.content, calls or None, None, message.reasoning_content)


def _as_object(arguments: str) -> str:
    try:
        decoded(arguments)
    except InvalidArguments:
        return msgspec.json.encode({"invalid_json": arguments[:_QUOTED]}).decode()
    return arguments if arguments.strip().startswith("{") else "{}"


def _groups(jobs: Sequence[Job]) -> Iterator[list[Job]]:
    """Group calls that may run concurrently, in order. An exclusive call is alone in its group."""
    group: list[Job] = []
    for job in jobs:
        if job.tool is not None and job.tool.exclusive:
            if group:
                yield group
            yield [job]
            group = []
        else:
            group.append(job)
    if group:
        yield group


def _call_ids(messages: Sequence[Any]) -> Iterator[str]:
    for message in messages:
        calls = message.get("tool_calls") if isinstance(message, Mapping) else None
        calls = calls or getattr(message, "tool_calls", None)
        for call in calls or ():
            yield call["id"] if isinstance(call, Mapping) else call.id
