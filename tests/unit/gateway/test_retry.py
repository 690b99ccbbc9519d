"""What follows an attempt that failed: decided without an event loop, a backend or a wait."""

from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace
from tests.contract.wire import USER, asked, body, call, read, result, tool

from toolwire.backends.base import UNKNOWN, Capabilities
from toolwire.backends.pool import BackendPool
from toolwire.errors import (
    InvalidToolArguments,
    ToolChoiceUnmet,
    UpstreamError,
    UpstreamRefused,
    UpstreamUnavailable,
)
from toolwire.gateway.answer.attempt import Attempt
from toolwire.gateway.retry import Retry, Tried, TurnLimits, TurnRetryPolicy
from toolwire.gateway.routes import ServedModel
from toolwire.gateway.strategies.native import NATIVE, Hybrid
from toolwire.gateway.strategies.prompted import Prompted
from toolwire.gateway.strategies.selection import Mode, StrategySelector
from toolwire.protocol.fragments import CallFragment, Fragment

SCHEMA = {
    "type": "object",
    "properties": {"x": {"type": "integer"}},
    "required": ["x"],
    "additionalProperties": False,
}
DOWN = UpstreamUnavailable("The backend closed the connection.")
NO_TOOLS = UpstreamRefused("This model does not support tools.", status=400)
PROSE = ToolChoiceUnmet("The model answered without the call.")


@dataclass
class FakeBackend:
    """As much of a backend as a decision needs."""

    name: str
    capabilities: Capabilities = UNKNOWN


def policy(
    *names: str, mode: Mode = "auto", limits: TurnLimits | None = None, **fields: Any
) -> TurnRetryPolicy:
    backends: Any = [FakeBackend(name) for name in names or ("a",)]
    pool = BackendPool(backends, lambda: 100.0)
    model = ServedModel("m", pool, strategies=StrategySelector(mode, "hermes"))
    return TurnRetryPolicy(read(body(**fields)), model, limits or TurnLimits())


def tried(retries: TurnRetryPolicy, **more: Any) -> Tried:
    return Tried(retries.pick(), Hybrid(format="hermes"), **more)


def unfit(retries: TurnRetryPolicy, *, strict: bool = False) -> Tried:
    """An attempt whose call must not be delivered."""
    retries.plan = read(body(tools=[tool("f", SCHEMA, strict=strict)]))
    made = Attempt(retries.plan, NATIVE, lambda *_: None, lambda: "call_1", final=False)
    made.feed([Fragment(calls=(CallFragment(0, "a", "f", "{}"),), finish="stop")])
    with pytest.raises(InvalidToolArguments):
        made.finish(done=True)
    return tried(retries, attempt=made)


UNFIT = InvalidToolArguments("It does not fit.", code="invalid_tool_arguments")


def test_another_backend_is_asked_at_once() -> None:
    retries = policy("a", "b")
    first = tried(retries)
    assert retries.after(first, DOWN) == Retry(0.0, DOWN.code or "")
    assert retries.pick() is not first.member


def test_the_same_backend_is_asked_after_a_while_each_longer_than_the_last() -> None:
    retries = policy(limits=TurnLimits(attempts=3, backoff=0.5))
    after = [retries.after(tried(retries), DOWN) for _ in range(3)]
    assert [retry and retry.delay for retry in after] == [0.5, 1.0, None]


def test_nothing_follows_what_the_client_has_seen() -> None:
    retries = policy("a", "b", tools=[tool()])
    assert retries.after(tried(retries, committed=True), DOWN) is None
    assert retries.after(tried(retries, committed=True), NO_TOOLS) is None


def test_what_cannot_pass_is_not_tried_again() -> None:
    retries = policy("a", "b")
    assert retries.after(tried(retries), UpstreamRefused("No.", status=400)) is None


def test_a_backend_without_tools_is_asked_again_without_them() -> None:
    retries = policy(tools=[tool()])
    assert retries.after(tried(retries), NO_TOOLS) == Retry(reason="tools_refused")
    assert retries.after(tried(retries), NO_TOOLS) is None, "that is no news any more"


def test_a_backend_is_not_said_to_lack_what_was_never_sent() -> None:
    retries = policy()
    assert retries.after(tried(retries), NO_TOOLS) is None


@pytest.mark.parametrize("offered", [[tool()], []])
def test_a_backend_without_a_place_for_calls_is_asked_again_without_them(
    offered: list[Any],
) -> None:
    retries = policy(messages=[USER, asked(call()), result()], tools=offered)
    no_role = UpstreamRefused("Unexpected role 'tool'", status=400)
    assert retries.after(tried(retries), no_role) == Retry(reason="tools_refused")
    assert retries.after(tried(retries), no_role) is None


def test_a_model_that_does_not_call_is_told_to_once() -> None:
    retries = policy(mode="native", tools=[tool()], tool_choice="required")
    before = len(retries.plan.outgoing.messages)
    assert not retries.final
    assert retries.after(tried(retries), PROSE) == Retry(repair="asked_again:tool_choice")
    assert len(retries.plan.outgoing.messages) > before
    assert retries.final
    assert retries.after(tried(retries), PROSE) is None


def test_a_model_is_told_what_is_wrong_with_its_call_once() -> None:
    retries = policy()
    failed = unfit(retries)
    before = len(retries.plan.outgoing.messages)
    assert retries.after(failed, UNFIT) == Retry(repair="asked_again:invalid_tool_arguments")
    assert len(retries.plan.outgoing.messages) > before
    assert retries.after(unfit(retries), UNFIT) is None


def test_a_model_that_is_never_asked_again_is_not() -> None:
    retries = policy(limits=TurnLimits(asks=0))
    assert retries.final
    assert retries.after(unfit(retries), UNFIT) is None


def test_an_attempt_that_was_given_up_is_kept_in_case_there_is_no_better_one() -> None:
    retries = policy()
    failed = unfit(retries)
    retries.after(failed, UNFIT)
    assert retries.spare(committed=False) is failed
    assert retries.spare(committed=True) is None, "the client has seen some of a later one"


def test_a_call_of_a_strict_tool_is_not_kept() -> None:
    retries = policy()
    retries.after(unfit(retries, strict=True), UNFIT)
    assert retries.spare(committed=False) is None


def test_an_error_without_a_code_has_a_name_in_the_report() -> None:
    error = UpstreamError("It broke.")
    error.retryable, error.code = True, None
    retries = policy("a", "b")
    assert retries.after(tried(retries), error) == Retry(0.0, "upstream_error")


def test_a_call_that_was_cut_off_is_not_asked_for_again() -> None:
    retries = policy()
    made = unfit(retries)
    cut = InvalidToolArguments("It does not fit.", code="malformed_tool_arguments")
    cut.cut_off = True
    assert retries.after(made, cut) is None


CALLING = Fragment(calls=(CallFragment(0, "a", "f", '{"x": '),))
TALKING = Fragment(text="Let me see.")


def broken(retries: TurnRetryPolicy, *said: Fragment, resumed: bool = False) -> Tried:
    """An attempt that broke off after the client had seen some text."""
    made = Attempt(retries.plan, NATIVE, lambda *_: None, lambda: "call_1", resumed=resumed)
    made.feed(list(said))
    return tried(retries, attempt=made, committed=True)


def test_an_answer_that_breaks_off_inside_a_call_is_taken_over_by_another_attempt() -> None:
    retries = policy(tools=[tool("f")], stream=True)
    again = retries.after(broken(retries, TALKING, CALLING), DOWN)
    assert again == Retry(0.25, DOWN.code or "", "call_resumed")
    assert retries.after(broken(retries, TALKING, resumed=True), DOWN), "nothing of it was sent"


def test_one_that_breaks_off_in_its_text_is_not() -> None:
    retries = policy(tools=[tool("f")], stream=True)
    assert retries.after(broken(retries, TALKING), DOWN) is None


@pytest.mark.parametrize(
    ("text", "resumed"),
    [
        ('Well. <tool_call>\n{"name": "f", "argu', True),
        ('Well. <tool_call>\n{"name": "f", "arguments": {"x": ', True),
        ("Well. <tool_", True),
        ("Well.\n", False),
        ("Well. <b>No</b> indeed", False),
    ],
)
@pytest.mark.parametrize("detecting", [True, False])
def test_a_call_in_the_text_is_taken_over_too(text: str, resumed: bool, detecting: bool) -> None:
    retries = policy(tools=[tool("f")], stream=True)
    watch = (lambda _: None) if detecting else None
    strategy = Hybrid(format="hermes", watch=watch)
    made = Attempt(retries.plan, strategy, lambda *_: None, lambda: "call_1")
    made.feed([Fragment(text=text)])
    again = retries.after(tried(retries, attempt=made, committed=True), DOWN)
    assert (again is not None) == resumed


def test_nor_is_one_whose_call_the_client_has_seen_the_beginning_of() -> None:
    retries = policy(tools=[tool("f")], stream=True)
    request = replace(retries.plan.request, shows_calls=True)
    retries.plan = replace(retries.plan, request=request)
    assert retries.after(broken(retries, TALKING, CALLING), DOWN) is None


def test_nor_is_one_of_several_choices() -> None:
    retries = policy(tools=[tool("f")], stream=True, n=2)
    other = Fragment(choice=1, text="Let me see.")
    assert retries.after(broken(retries, CALLING, other), DOWN) is None


def spoken(retries: TurnRetryPolicy, *said: Fragment) -> Tried:
    """An attempt of several choices, of which one has no call although one is demanded."""
    made = Attempt(retries.plan, NATIVE, lambda *_: None, lambda: "call_1", final=False)
    made.feed(list(said))
    with pytest.raises(ToolChoiceUnmet):
        made.finish(done=True)
    return tried(retries, attempt=made)


@pytest.mark.parametrize("speaker", [0, 1])
def test_prose_beside_a_choice_that_calls_does_not_say_that_there_are_no_tools(
    speaker: int,
) -> None:
    retries = policy(tools=[tool("f")], tool_choice="required", n=2)
    prose = Fragment(choice=speaker, text="No.", finish="stop")
    call = Fragment(choice=1 - speaker, calls=(CallFragment(0, "a", "f", "{}"),), finish="stop")
    after = retries.after(spoken(retries, prose, call), PROSE)
    assert after == Retry(repair="asked_again:tool_choice")
    strategies = retries._model.strategies
    assert strategies.known(retries.plan.request.model) == {}


def test_prose_says_that_there_are_no_tools_where_nothing_was_called() -> None:
    retries = policy(tools=[tool("f")], tool_choice="required")
    strategies, plan = retries._model.strategies, retries.plan
    backend, model = retries.pick().backend, plan.request.model
    retries.after(spoken(retries, Fragment(text="No.", finish="stop")), PROSE)
    assert isinstance(strategies.choose(backend, retries.plan), Prompted)
    assert isinstance(strategies.choose(backend, plan), Hybrid), "one turn proves nothing"
    assert strategies.known(model) == {}
    retries.plan = plan
    retries.after(spoken(retries, Fragment(text="No.", finish="stop")), PROSE)
    assert strategies.known(model) == {"a": "without tools"}
