import dataclasses

import pytest

from toolwire.conformance import (
    DeltaMessage,
    DeltaToolCall,
    ExtractedToolCall,
    ExtractedToolCallInformation,
    FunctionCall,
    InvalidEntity,
    State,
    TestCase,
)

CALL = ExtractedToolCall.of("get_time", {"tz": "CET"})


def case(**changes: object) -> TestCase:
    fields: dict[str, object] = {
        "scenario_name": "one_call",
        "model_output": "text",
        "parser_name": "hermes",
        "expected_tools_called": True,
        "expected_tool_calls": (CALL,),
        "expected_content": None,
        "streaming_mode": False,
    }
    return TestCase(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_function_call_needs_a_name() -> None:
    with pytest.raises(InvalidEntity, match="name"):
        FunctionCall("", "{}")


def test_arguments_are_json_and_the_message_shows_them() -> None:
    with pytest.raises(InvalidEntity, match=r'get_time are not JSON.*\{"tz'):
        FunctionCall("get_time", '{"tz": ')


@pytest.mark.parametrize("arguments", ["", "{}"])
def test_no_arguments_may_be_written_in_two_ways(arguments: str) -> None:
    assert FunctionCall("refresh", arguments).decoded() == {}


def test_a_call_needs_an_id() -> None:
    with pytest.raises(InvalidEntity, match="no id"):
        ExtractedToolCall("", FunctionCall("refresh", "{}"))


def test_a_call_is_of_a_function() -> None:
    with pytest.raises(InvalidEntity, match="'function'"):
        ExtractedToolCall("call_1", FunctionCall("refresh", "{}"), "custom")  # type: ignore[arg-type]


@pytest.mark.parametrize(("called", "calls"), [(True, ()), (False, (CALL,))])
def test_tools_called_says_what_the_calls_say(
    called: bool, calls: tuple[ExtractedToolCall, ...]
) -> None:
    with pytest.raises(InvalidEntity, match=f"tools_called is {called}"):
        ExtractedToolCallInformation(called, calls)


def test_a_delta_holds_something() -> None:
    with pytest.raises(InvalidEntity, match="content, reasoning or tool calls"):
        DeltaMessage()


def test_an_index_is_not_negative() -> None:
    with pytest.raises(InvalidEntity, match="not -1"):
        DeltaToolCall(-1)


@pytest.mark.parametrize(("called", "calls"), [(True, ()), (False, (CALL,))])
def test_a_case_expects_calls_exactly_if_it_says_so(called: bool, calls: object) -> None:
    with pytest.raises(InvalidEntity, match="hermes/one_call: expected_tools_called"):
        case(expected_tools_called=called, expected_tool_calls=calls)


def test_a_case_needs_a_text() -> None:
    with pytest.raises(InvalidEntity, match="model_output"):
        case(model_output=None)
    assert case(model_output="").model_output == ""


def test_the_deltas_of_a_case_add_up_to_its_text() -> None:
    with pytest.raises(InvalidEntity, match="add up"):
        case(deltas=("te", "x"))
    assert case(deltas=("te", "xt")).deltas == ("te", "xt")


def test_a_case_goes_its_way_step_by_step() -> None:
    created = case()
    executed = created.moved_to(State.EXECUTED)
    states = [executed.moved_to(s).state for s in (State.PASSED, State.FAILED, State.XFAILED)]
    assert created.state is State.CREATED
    assert states == [State.PASSED, State.FAILED, State.XFAILED]


@pytest.mark.parametrize("state", [State.CREATED, State.PASSED, State.FAILED, State.XFAILED])
def test_a_case_that_was_not_executed_has_no_verdict(state: State) -> None:
    with pytest.raises(InvalidEntity, match="created cannot become"):
        case().moved_to(state)


def test_a_verdict_is_final() -> None:
    passed = case().moved_to(State.EXECUTED).moved_to(State.PASSED)
    with pytest.raises(InvalidEntity, match="passed cannot become failed"):
        passed.moved_to(State.FAILED)


def test_a_case_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        case().state = State.PASSED  # type: ignore[misc]


def test_the_name_of_a_case_tells_its_mode() -> None:
    assert case().name == "hermes/one_call"
    assert case(streaming_mode=True).name == "hermes/one_call:stream"
