"""Calls are checked elsewhere as they would be here, or not at all, and always within limits."""

import asyncio
import time
from typing import Any

import pytest
from tests.schemas import fan

from toolwire.gateway.repair.costly import CheckedCall, CostlyCall
from toolwire.gateway.repair.rules import RULE_NAMES
from toolwire.protocol.tools import ToolSpec
from toolwire.server.process.check_process import CheckProcess

pytestmark = pytest.mark.process

INTEGER = {"type": "object", "properties": {"a": {"type": "integer"}}}


def fit(*calls: CostlyCall, **limits: float) -> list[CheckedCall]:
    async def once() -> list[CheckedCall]:
        checker = CheckProcess(**limits)
        try:
            return await checker.check(calls)
        finally:
            checker.close()

    return asyncio.run(once())


def call(schema: Any, text: str, *rules: str) -> CostlyCall:
    return CostlyCall(3, ToolSpec("f", None, schema), text, rules)


def test_a_call_is_checked_and_repaired_as_it_would_be_here() -> None:
    good, mended, bad = fit(
        call(INTEGER, '{"a": 1}'),
        call(INTEGER, '{"a": "1",}', *RULE_NAMES),
        call(INTEGER, '{"a": "1"}'),
    )
    assert good == CheckedCall('{"a": 1}')
    assert mended == CheckedCall('{"a":1}', ("lenient_json", "number_from_string"))
    assert bad.finding is not None
    assert (bad.finding.code, bad.finding.index) == ("invalid_tool_arguments", 3)
    assert bad.finding.message.startswith("at 'a': ")


def test_what_takes_too_long_to_say_is_not_said() -> None:
    (fitted,) = fit(call(fan("anyOf", 16), '{"p": "x"}'))
    assert fitted.finding is not None
    assert fitted.finding.code == "invalid_tool_arguments"
    assert "too long to list" in fitted.finding.message


@pytest.mark.parametrize(
    ("limits", "why"),
    [({"deadline": 0.5}, "more than 0.5 s"), ({"deadline": 60, "longest": 0.4}, "more than 0.4 s")],
)
def test_a_check_that_takes_too_long_is_ended_and_said_so(
    limits: dict[str, float], why: str
) -> None:
    endless = call(fan("unevaluatedProperties", 40), '{"p": {"a": 1}}')
    began = time.monotonic()
    late = fit(endless, **limits)[0].finding
    assert time.monotonic() - began < 30
    assert late is not None
    assert late.code == "unchecked_tool_arguments"
    assert why in late.message


def test_a_schema_that_cannot_be_compiled_leaves_the_call_unchecked() -> None:
    wrong = {"type": "object", "properties": {"a": {"pattern": "("}}}
    (fitted,) = fit(call(wrong, "{}"))
    assert fitted.finding is not None
    assert fitted.finding.code == "unchecked_tool_arguments"


def test_the_next_call_is_checked_after_one_that_had_to_be_ended() -> None:
    endless = call(fan("unevaluatedProperties", 40), '{"p": {"a": 1}}')
    late, good = fit(endless, call(INTEGER, '{"a": 1}'), deadline=0.5, longest=60)
    assert late.finding is not None
    assert good == CheckedCall('{"a": 1}')
