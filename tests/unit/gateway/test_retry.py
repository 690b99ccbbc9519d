"""What follows an attempt that failed: decided without an event loop, a backend or a wait."""

from dataclasses import dataclass
from typing import Any

import pytest
from tests.contract.wire import body, read, tool

from toolwire.backends.base import UNKNOWN, Capabilities
from toolwire.backends.pool import BackendPool
from toolwire.errors import (
    ArgumentsUnfit,
    ToolChoiceUnmet,
    UpstreamError,
    UpstreamRefused,
    UpstreamUnavailable,
)
from toolwire.gateway.attempt import Attempt
from toolwire.gateway.retry import Retry, RetryPolicy, Tried, TurnLimits
from toolwire.gateway.routes import ServedModel
from toolwire.gateway.strategies.native import NATIVE, Hybrid
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
) -> RetryPolicy:
    backends: Any = [FakeBackend(name) for name in names or ("a",)]
    pool = BackendPool(backends, lambda: 100.0)
    model = ServedModel("m", pool, strategies=StrategySelector(mode, "hermes"))
    return RetryPolicy(read(body(**fields)), model, limits or TurnLimits())


def tried(retries: RetryPolicy, **more: Any) -> Tried:
    return Tried(retries.pick(), Hybrid(format="hermes"), **more)


def unfit(retries: RetryPolicy, *, strict: bool = False) -> Tried:
    """An attempt whose call must not be delivered."""
    retries.plan = read(body(tools=[tool("f", SCHEMA, strict=strict)]))
    made = Attempt(retries.plan, NATIVE, lambda *_: None, lambda: "call_1", final=False)
    made.feed([Fragment(calls=(CallFragment(0, "a", "f", "{}"),), finish="stop")])
    with pytest.raises(ArgumentsUnfit):
        made.finish(done=True)
    return tried(retries, attempt=made)


UNFIT = ArgumentsUnfit("It does not fit.", code="invalid_tool_arguments")


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
    cut = ArgumentsUnfit("It does not fit.", code="malformed_tool_arguments")
    cut.cut_off = True
    assert retries.after(made, cut) is None
