"""The loop, driven by hand: no server, no threads, no clock but ours."""

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from toolwire.client import Deny, Image, LimitReached, Limits, RunResult, Toolbox, tool
from toolwire.client.answer import Choice, Completion, Function, Message, ToolCall, Usage
from toolwire.client.errors import ClientError
from toolwire.client.events import CallFinished, CallStarted, RunFinished, TurnStarted
from toolwire.client.running.executor import told
from toolwire.client.running.loop import Ask, Decide, Execute, ToolLoop
from toolwire.client.running.workers import attempt

NUMBERS = itertools.count()
USER = {"role": "user", "content": "Go."}


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool(exclusive=True)
def write(text: str) -> str:
    """Write."""
    return text


@tool
def draw() -> list[Any]:
    """Draw."""
    return ["done", Image(b"x")]


def call(name: str, arguments: Any, id: str = "") -> ToolCall:  # noqa: A002
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolCall(id or f"call_{next(NUMBERS)}_{name}", Function(name, text))


def answer(*calls: ToolCall, text: str | None = None) -> Completion:
    message = Message("assistant", text, list(calls) or None)
    return Completion([Choice(message)], usage=Usage(10, 5))


class Driver:
    """Plays the model and the tools. `asked` and `groups` are what the loop wanted."""

    def __init__(self, *answers: Completion, decide: Callable[[Any], Any] | None = None) -> None:
        self.answers = list(answers)
        self.decide = decide
        self.asked: list[Ask] = []
        self.groups: list[list[str]] = []
        self.events: list[Any] = []
        self.now = 0.0

    def run(
        self, *tools: Any, messages: Sequence[Any] = (USER,), choice: Any = None, **limits: Any
    ) -> RunResult:
        loop = ToolLoop(
            messages,
            Toolbox(*tools or (add, write, draw)),
            limits=Limits(**limits),
            clock=lambda: self.now,
            tool_choice=choice,
            approves=self.decide is not None,
        )
        steps, reply = loop.steps(), None
        while True:
            step = steps.send(reply)
            reply = self._perform(step)
            if isinstance(step, RunFinished):
                return step.result

    def _perform(self, step: Any) -> Any:
        if isinstance(step, Ask):
            self.asked.append(step)
            self.now += 1
            return self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(step, Execute):
            self.groups.append([job.call.name for job in step.jobs])
            return [told(attempt(job.runnable.bind(job.arguments)), 1000, 0.0) for job in step.jobs]
        if isinstance(step, Decide):
            assert self.decide is not None
            return self.decide(step.call)
        self.events.append(step)
        return None


def contents(result: RunResult) -> list[str]:
    return [m["content"] for m in result.messages if isinstance(m, Mapping) and m["role"] == "tool"]


def test_text_ends_the_run() -> None:
    result = Driver(answer(text="Hello.")).run()
    assert (str(result), result.turns, result.calls) == ("Hello.", 1, ())


def test_results_are_answered_in_the_order_of_the_calls() -> None:
    driver = Driver(
        answer(call("add", {"a": 1}), call("nope", {}), call("add", {"a": 5})), answer(text="Done.")
    )
    result = driver.run()
    assert contents(result) == [
        "2", "Error: there is no tool 'nope'; the tools are: add, write, draw", "6",
    ]  # fmt: skip
    ids = [m["tool_call_id"] for m in result.messages[2:5]]
    assert ids == [one.id for one in result.messages[1].tool_calls]
    assert [m["role"] for m in driver.asked[1].messages if isinstance(m, dict)] == [
        "user", "tool", "tool", "tool",
    ]  # fmt: skip


def test_usage_is_added_up() -> None:
    result = Driver(answer(call("add", {"a": 1})), answer(text="x")).run()
    assert result.usage.total_tokens == 30


def test_the_callers_messages_are_left_alone() -> None:
    messages = [USER]
    Driver(answer(call("add", {"a": 1})), answer(text="x")).run(messages=messages)
    assert messages == [USER]


def test_an_exclusive_tool_runs_alone_and_in_its_place() -> None:
    calls = [call("add", {"a": 1}), call("add", {"a": 2}), call("write", {"text": "x"})]
    driver = Driver(answer(*calls, call("add", {"a": 3})), answer(text="x"))
    driver.run()
    assert driver.groups == [["add", "add"], ["write"], ["add"]]


def test_calls_with_the_same_id_get_ids_of_their_own() -> None:
    twice = answer(call("add", {"a": 1}, "call_0"), call("add", {"a": 2}, "call_0"))
    again = answer(call("add", {"a": 3}, "call_0"))
    result = Driver(twice, again, answer(text="x")).run()
    ids = [
        m["tool_call_id"] for m in result.messages if isinstance(m, dict) and m["role"] == "tool"
    ]
    assert len(set(ids)) == 3
    assert ids[0] == "call_0"


def test_ids_of_the_given_conversation_are_not_used_again() -> None:
    earlier = {"role": "assistant", "tool_calls": [{"id": "call_0"}]}
    result = Driver(answer(call("add", {"a": 1}, "call_0")), answer(text="x")).run(
        messages=[USER, earlier]
    )
    assert result.messages[2].tool_calls[0].id != "call_0"


def test_unfit_arguments_are_explained_and_not_run() -> None:
    driver = Driver(answer(call("add", {"a": "one"})), answer(text="x"))
    result = driver.run()
    assert driver.groups == []
    assert "a: Expected 'int', got 'str'" in contents(result)[0]
    assert result.calls[0].result.is_error


@pytest.mark.parametrize("arguments", ['{"a": 1', "", "[1]"])
def test_history_has_arguments_that_are_a_json_object(arguments: str) -> None:
    driver = Driver(answer(call("add", arguments)), answer(text="x"))
    driver.run()
    (sent,) = driver.asked[1].messages[1].tool_calls
    assert isinstance(json.loads(sent.function.arguments), dict)


def test_a_limit_of_turns_asks_for_text_at_last() -> None:
    driver = Driver(answer(call("add", {"a": 1})))
    result = driver.run(turns=3)
    assert [ask.tool_choice for ask in driver.asked] == [None, None, "none"]
    assert (result.turns, result.stopped_by, len(result.calls)) == (3, "turns", 2)
    assert driver.events[-3] == TurnStarted(3, last=True)


def test_a_limit_of_calls_answers_the_rest_with_an_error() -> None:
    five = answer(*(call("add", {"a": n}) for n in range(5)))
    result = Driver(five, answer(text="x")).run(calls=3)
    assert contents(result)[2:] == [
        "3", *["Error: the limit of 3 tool calls is reached"] * 2,
    ]  # fmt: skip
    assert result.stopped_by == "calls"


def test_a_limit_of_tokens_asks_for_text() -> None:
    result = Driver(answer(call("add", {"a": 1})), answer(text="x")).run(tokens=15)
    assert (result.turns, result.stopped_by) == (2, "tokens")


def test_a_limit_of_seconds_raises_with_the_conversation() -> None:
    with pytest.raises(LimitReached, match=r"longer than its limit of 2\.5 s") as caught:
        Driver(answer(call("add", {"a": 1}))).run(seconds=2.5)
    assert len(caught.value.messages) > 3


def test_time_that_is_left_is_passed_on() -> None:
    driver = Driver(answer(call("add", {"a": 1})), answer(text="x"))
    driver.run(seconds=9.0)
    assert [ask.seconds for ask in driver.asked] == [9.0, 8.0]


def test_a_demanded_call_is_demanded_once() -> None:
    driver = Driver(answer(call("add", {"a": 1})), answer(text="x"))
    driver.run(choice="required")
    assert [ask.tool_choice for ask in driver.asked] == ["required", None]


def test_a_call_that_is_not_approved_is_not_run() -> None:
    driver = Driver(answer(call("add", {"a": 1})), answer(text="x"), decide=lambda _: False)
    result = driver.run()
    assert driver.groups == []
    assert contents(result) == ["Error: the user did not allow this call"]


def test_a_refusal_may_have_a_reason() -> None:
    refuse = Driver(
        answer(call("add", {"a": 1})), answer(text="x"), decide=lambda _: Deny("not on Sundays")
    )
    assert contents(refuse.run()) == ["Error: not on Sundays"]


def test_arguments_can_be_changed_and_the_model_is_told() -> None:
    driver = Driver(
        answer(call("add", {"a": 1})), answer(text="x"), decide=lambda c: {**c.arguments, "b": 9}
    )
    result = driver.run()
    assert contents(result) == ["(The user changed the arguments before the call was made.)\n10"]
    assert result.calls[0].call.arguments == {"a": 1, "b": 9}


@pytest.mark.parametrize("said", [None, "yes", {"a": "one"}])
def test_a_hook_that_says_nothing_clear_is_an_error_and_no_approval(said: Any) -> None:
    driver = Driver(answer(call("add", {"a": 1})), decide=lambda _: said)
    with pytest.raises((TypeError, ClientError), match=r"approve\(\)"):
        driver.run()
    assert driver.groups == []


def test_unknown_tools_are_not_asked_about() -> None:
    driver = Driver(answer(call("nope", {})), answer(text="x"), decide=lambda _: 1 / 0)
    assert driver.run().calls[0].result.is_error


def test_events_say_what_happens() -> None:
    driver = Driver(answer(call("add", {"a": 1}), call("nope", {})), answer(text="x"))
    driver.run()
    kinds = [type(event).__name__ for event in driver.events]
    assert kinds == [
        "TurnStarted", "TurnFinished", "CallFinished", "CallStarted", "TurnStarted", "TurnFinished",
        "RunFinished",
    ]  # fmt: skip
    started = [event.call.name for event in driver.events if isinstance(event, CallStarted)]
    finished = [event.call.name for event in driver.events if isinstance(event, CallFinished)]
    assert (started, finished) == (["add"], ["nope"])


def test_images_follow_the_results() -> None:
    result = Driver(answer(call("draw", {}), call("add", {"a": 1})), answer(text="x")).run()
    roles = [m["role"] if isinstance(m, dict) else m.role for m in result.messages]
    assert roles == ["user", "assistant", "tool", "tool", "user", "assistant"]


def test_reasoning_is_sent_back_within_the_run() -> None:
    thought = answer(call("add", {"a": 1}))
    thought.message.reasoning_content = "Hm."
    driver = Driver(thought, answer(text="x"))
    driver.run()
    assert driver.asked[1].messages[1].reasoning_content == "Hm."


@pytest.mark.parametrize("name", ["turns", "result_chars", "concurrency"])
def test_a_limit_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})


def test_without_tools_a_model_that_calls_for_ever_is_stopped() -> None:
    result = Driver(answer(call("add", {"a": 1}))).run(Toolbox(), turns=3)
    assert (result.turns, result.stopped_by) == (3, "turns")
    assert Driver(answer(text="x")).run(Toolbox(), turns=1).stopped_by is None
