"""The same wrong call again and again."""

import pytest
from tests.unit.gateway.fitting import toolset

from toolwire.gateway.plan import RepairPolicy, make_plan
from toolwire.gateway.repair.arguments import check_call
from toolwire.gateway.repair.correction import correction
from toolwire.gateway.repair.costly import Allowance
from toolwire.gateway.repair.loops import break_loop, find_loop
from toolwire.protocol.requests import ChatMessage, Request
from toolwire.protocol.tools import AssistantCall

TOOLS = toolset(x={"type": "integer"})
BAD = ("f", '{"x": "a"}')
GOOD = ("f", '{"x": 1}')


def talk(*turns: tuple[str, str] | str) -> list[ChatMessage]:
    """A conversation: each turn a call with its result, or what the assistant said."""
    messages = [ChatMessage("user", "go")]
    for number, turn in enumerate(turns):
        if isinstance(turn, str):
            messages.append(ChatMessage("assistant", turn))
            continue
        call = AssistantCall(f"c{number}", *turn)
        messages.append(ChatMessage("assistant", calls=(call,)))
        messages.append(ChatMessage("tool", "error", call_id=f"c{number}"))
    return messages


def test_the_same_wrong_call_three_times_is_a_loop() -> None:
    finding = find_loop(talk(GOOD, BAD, BAD, BAD), TOOLS, 3)
    assert finding is not None
    assert (finding.code, finding.tool) == ("invalid_tool_arguments", "f")


@pytest.mark.parametrize(
    "turns",
    [
        (),
        (BAD, BAD),
        (GOOD, GOOD, GOOD),
        (BAD, GOOD, BAD),
        (BAD, BAD, "let me think", BAD),
        (BAD, BAD, ("f", '{"x": "b"}')),
        (BAD, BAD, BAD, GOOD),
    ],
)
def test_anything_else_is_no_loop(turns: tuple[tuple[str, str] | str, ...]) -> None:
    assert find_loop(talk(*turns), TOOLS, 3) is None


def test_an_unknown_tool_again_and_again_is_a_loop() -> None:
    finding = find_loop(talk(*[("g", "{}")] * 3), TOOLS, 3)
    assert finding is not None
    assert finding.code == "unknown_tool_call"


def test_what_a_user_says_in_between_does_not_end_a_loop() -> None:
    messages = talk(BAD, BAD, BAD)
    messages.insert(3, ChatMessage("user", "that was wrong"))
    assert find_loop(messages, TOOLS, 3) is not None


def test_loops_are_not_looked_for_when_that_is_off() -> None:
    assert find_loop(talk(BAD, BAD, BAD), TOOLS, 0) is None


def test_the_model_is_told_what_is_wrong_and_what_is_wanted() -> None:
    finding = find_loop(talk(BAD, BAD, BAD), TOOLS, 3)
    assert finding is not None
    text = str(break_loop(finding, TOOLS, 3).content)
    assert "3 times" in text
    assert 'at \'x\': "a" is not of type "integer"' in text
    assert '"properties":{"x":{"type":"integer"}}' in text


def test_a_plan_explains_the_loop_to_the_backend_alone_and_says_so() -> None:
    request = Request("m", tuple(talk(BAD, BAD, BAD)), TOOLS)
    plan = make_plan(request, repair_history=False)
    assert len(plan.outgoing.messages) == len(request.messages) + 1
    assert plan.repairs == ("loop_explained:f",)
    quiet = make_plan(request, repair_history=False, repair_policy=RepairPolicy(loop_after=0))
    assert (len(quiet.outgoing.messages), quiet.repairs) == (len(request.messages), ())


def objected(*calls: tuple[str, str], said: str = "") -> list[ChatMessage]:
    """What is said about these calls."""
    made = [AssistantCall(f"c{n}", *call) for n, call in enumerate(calls)]
    found = [check_call(n, *call, TOOLS, Allowance()) for n, call in enumerate(calls)]
    return correction(said, made, [finding for finding in found if finding])


def test_an_objection_is_the_calls_and_a_result_for_each() -> None:
    assistant, first, second = objected(GOOD, BAD, said="now")
    assert (assistant.role, assistant.content) == ("assistant", "now")
    assert [call.call_id for call in assistant.calls] == ["c0", "c1"]
    assert (first.call_id, second.call_id) == ("c0", "c1")
    assert "another call beside it" in str(first.content)
    assert "at 'x'" in str(second.content)


def test_arguments_that_are_not_json_never_enter_a_history() -> None:
    messages = objected(("f", '{"x": '), said="now")
    assert [message.role for message in messages] == ["assistant", "user"]
    assert not messages[0].calls
    assert '{"x": ' in str(messages[1].content)
    assert "not valid JSON" in str(messages[1].content)


def test_an_objection_keeps_the_rules_of_a_history() -> None:
    for calls in ([GOOD, BAD], [BAD], [("g", "{}")], [("f", "{")]):
        messages = (ChatMessage("user", "go"), *objected(*calls))
        plan = make_plan(Request("m", messages, TOOLS), repair_history=False)
        assert plan.outgoing.messages == list(messages)
