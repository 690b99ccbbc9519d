"""Whatever a backend does wrong ends in the right answer or in a documented error (R14)."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.e2e.gateway.contract import Outcome, check_arguments, read
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import CALLS, SCRIPTS, TOOLS, meant, values
from tests.e2e.gateway.wire import ask, chat_body
from tests.scripted import VARIANTS, ScriptedServer

CONFIG = """
[retries]
attempts = 1
max_retry_after = 2
backoff = 0.01
"""
HASTY = """
[timeouts]
first_token = 0.6
idle = 0.6
[retries]
attempts = 0
"""

ARGUMENTS = {
    "silence": "silence:0.2",
    "silence_headers": "silence_headers:0.2",
    "silence_mid": "silence_mid:0.2",
    "slow": "slow:2",
    "huge_line": "huge_line:9",
    "err429": "err429:1",
}
"""Variants whose usual argument would take long."""

ONE_SCRIPT = {"err429", "silence", "silence_headers", "silence_mid", "split_bytes", "huge_line"}
"""Variants that are slow and whose point does not depend on what is said."""

ONE_CALL = {"legacy_function_call"}
"""Variants whose whole form has room for one call only."""

Change = Callable[[Outcome], Outcome]


def _with_calls(change: Callable[[str, str], tuple[str, str]]) -> Change:
    return lambda outcome: replace(outcome, calls=[change(*call) for call in outcome.calls])


SAYS_OTHERWISE: dict[str, Change] = {
    "args_null": _with_calls(lambda name, _: (name, "{}")),
    "args_absent": _with_calls(lambda name, _: (name, "{}")),
    "lengthcut": lambda outcome: replace(outcome, finish="length"),
    "empty_answer": lambda outcome: Outcome(finish="stop"),
    "reasoning": lambda outcome: replace(outcome, reasoning="Thinking about turn 0:"),
    "reasoning_field": lambda outcome: replace(outcome, reasoning="Thinking about turn 0:"),
    "reasoning_tags": lambda outcome: replace(outcome, reasoning="What is there to do?"),
    "text_call": lambda outcome: outcome,  # but for the line break before a call
    "content_and_tool": lambda outcome: replace(
        outcome, content=outcome.content or "I will use a tool for that."
    ),
}
"""Variants in which the model itself says something else: it is delivered as it is."""

UNFIT: dict[str, Change] = {
    "badargs": _with_calls(lambda name, arguments: (name, arguments[:-1] + ", oops")),
    "unknown_tool": _with_calls(lambda _, arguments: ("no_such_tool", arguments)),
}
"""Variants in which the model's first answer does not fit: it is asked again where that can be."""

REFUSED: dict[str, tuple[int, str | None]] = {
    "err400": (400, "invalid_value"),
    "err404": (404, "model_not_found"),
    "only_completions": (404, "upstream_error"),
    "err_plain": (400, "upstream_error"),
    "err_string": (400, "upstream_error"),
    "err_detail": (422, "upstream_error"),
    "ctxlen": (400, "context_length_exceeded"),
    "err401": (401, "upstream_key_refused"),
    "err_key": (401, "upstream_key_refused"),
    "redirect": (502, "upstream_error"),
    "html200": (502, "upstream_error"),
    "garbage_json": (502, "upstream_error"),
    "err200": (502, "upstream_error"),
    "err_empty": (502, "upstream_error"),
    "err500_always": (502, "upstream_error"),
    "err429_always": (429, "rate_limit_exceeded"),
    "err429_retry7": (429, "rate_limit_exceeded"),
}
"""Variants that never give an answer: the status and code of the error."""

BREAKS_ONCE = {
    "midstream_cut",
    "midstream_close",
    "cut_in_call",
    "eof_in_call",
    "done_in_call",
    "midstream_error",
    "midstream_error_event",
    "midstream_error_key",
    "malformed",
}
"""Variants that break off once: an error event if the client has seen any of it, else a retry."""

HANGS = {"hang_headers", "hang_first", "hang_mid"}
"""Variants that fall silent for good: an error when the time is up."""

SPECIAL = {"huge_line", "hang_end", "flood", "refuses_tools"}
"""Variants that have a test of their own: a server without tools would be remembered here."""

HEALED = sorted(set(VARIANTS) - {*SAYS_OTHERWISE, *UNFIT, *REFUSED} - BREAKS_ONCE - HANGS - SPECIAL)
"""All others: the client gets what the model meant."""


@pytest.fixture(scope="module")
def hasty(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire that does not wait long."""
    with running("--upstream", backend.url, config=HASTY) as process:
        yield process


LIVE = {"toolwire-profile": "live"}
"""From a client that shows arguments while they arrive."""


def answer(gateway: Gateway, *, stream: bool, live: bool = False) -> Outcome:
    """Ask once, and check the form of the answer."""
    options: dict[str, Any] = {"stream_options": {"include_usage": True}} if stream else {}
    body = chat_body(tools=TOOLS, stream=stream, **options)
    headers = LIVE if live else {}
    return read(ask(gateway.port, body, headers=headers), include_usage=stream)


def scripts_for(variant: str) -> list[list[Any]]:
    """The scripts that a variant is tried with."""
    if variant in ONE_SCRIPT:
        return [CALLS]
    return [
        script for name, script in SCRIPTS.items() if name != "calls" or variant not in ONE_CALL
    ]


def both(gateway: Gateway, backend: ScriptedServer, variant: str, script: Any) -> list[Outcome]:
    """The answer as a stream and whole, each from a fresh stage."""
    outcomes = []
    for stream in (True, False):
        backend.use(ARGUMENTS.get(variant, variant), script)
        outcomes.append(answer(gateway, stream=stream))
    return outcomes


@pytest.mark.parametrize("variant", HEALED)
def test_what_a_backend_writes_wrong_is_made_right(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    for script in scripts_for(variant):
        expected = meant(script)
        for outcome in both(gateway, backend, variant, script):
            assert outcome.error is None
            check_arguments(outcome)
            assert values(outcome) == values(expected)
            assert (outcome.content, outcome.finish) == (expected.content, expected.finish)


@pytest.mark.parametrize("variant", SAYS_OTHERWISE)
def test_what_a_model_says_is_delivered_the_same_streamed_or_whole(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    for script in SCRIPTS.values():
        expected = SAYS_OTHERWISE[variant](meant(script))
        streamed, whole = both(gateway, backend, variant, script)
        assert streamed.said == whole.said
        assert values(whole) == values(expected)
        assert whole.finish == expected.finish
        assert whole.content.startswith(expected.content)
        assert whole.reasoning.startswith(expected.reasoning)


@pytest.mark.parametrize("variant", UNFIT)
def test_what_does_not_fit_is_asked_for_again_and_live_delivered_as_it_is(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    streamed, whole = both(gateway, backend, variant, CALLS)
    assert values(streamed) == values(whole) == values(meant(CALLS))
    backend.use(variant, CALLS)
    live = answer(gateway, stream=True, live=True)
    assert values(live) == values(UNFIT[variant](meant(CALLS)))


@pytest.mark.parametrize("variant", REFUSED)
@pytest.mark.parametrize("stream", [True, False])
def test_a_backend_without_an_answer_gives_a_documented_error(
    gateway: Gateway, backend: ScriptedServer, variant: str, stream: bool
) -> None:
    backend.use(variant, CALLS)
    outcome = answer(gateway, stream=stream)
    assert outcome.error is not None
    assert (outcome.status, outcome.error["code"]) == REFUSED[variant]
    assert len(backend.requests) <= 2


@pytest.mark.parametrize("variant", sorted(BREAKS_ONCE))
def test_a_broken_stream_is_an_error_event_and_a_broken_body_is_asked_for_again(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    for script in scripts_for(variant):
        expected = meant(script)
        streamed, whole = both(gateway, backend, variant, script)
        assert (values(whole), whole.content) == (values(expected), expected.content)
        if streamed.error is not None:
            assert streamed.error["code"] in ("upstream_error", "scripted_failure")
            check_is_beginning(streamed, expected)
        elif variant != "done_in_call" or expected.calls:
            assert (values(streamed), streamed.content) == (values(expected), expected.content)


def check_is_beginning(outcome: Outcome, expected: Outcome) -> None:
    """Nothing was said that the model did not mean, and what was finished is whole."""
    assert expected.content.startswith(outcome.content)
    *finished, last = outcome.calls or [("", "")]
    assert finished == expected.calls[: len(finished)]
    name, arguments = expected.calls[len(finished)] if outcome.calls else ("", "")
    assert last[0] == name
    assert arguments.startswith(last[1])


@pytest.mark.parametrize("variant", ["cut_in_call", "eof_in_call", "done_in_call", "malformed"])
def test_a_call_that_was_cut_off_is_never_finished(
    gateway: Gateway, backend: ScriptedServer, variant: str
) -> None:
    script = [{"calls": [["get_weather", {"city": "x" * 100}]]}]
    backend.use(variant, script)
    outcome = answer(gateway, stream=True, live=True)
    assert outcome.error is not None
    assert outcome.finish is None
    backend.use(f"{variant}:always", script)
    outcome = answer(gateway, stream=True)
    assert outcome.status in (502, 503)
    assert (outcome.finish, outcome.calls) == (None, [])


@pytest.mark.parametrize("text", ["", "Let me see. "])
@pytest.mark.parametrize("variant", ["cut_in_call", "eof_in_call", "done_in_call", "malformed"])
def test_a_backend_that_fails_inside_a_call_is_asked_again_and_the_client_does_not_notice(
    gateway: Gateway, backend: ScriptedServer, variant: str, text: str
) -> None:
    script = [{"text": text, "calls": [["get_weather", {"city": "x" * 100}]]}]
    backend.use(variant, script)
    outcome = answer(gateway, stream=True)
    assert (values(outcome), outcome.content) == ([("get_weather", {"city": "x" * 100})], text)
    assert (outcome.error, outcome.finish) == (None, "tool_calls")
    assert len(backend.requests) == 2


@pytest.mark.parametrize("variant", sorted(HANGS))
@pytest.mark.parametrize("stream", [True, False])
def test_a_silent_backend_is_given_up(
    hasty: Gateway, backend: ScriptedServer, variant: str, stream: bool
) -> None:
    backend.use(variant, CALLS)
    outcome = answer(hasty, stream=stream, live=True)
    assert outcome.error is not None
    assert outcome.error["code"] == "upstream_timeout"
    assert outcome.status == (200 if stream and variant == "hang_mid" else 504)
    assert len(backend.requests) == 1


def test_a_stream_is_over_when_the_backend_says_so_even_if_it_leaves_the_connection_open(
    hasty: Gateway, backend: ScriptedServer
) -> None:
    streamed, whole = both(hasty, backend, "hang_end", CALLS)
    assert streamed.error is None
    assert values(streamed) == values(meant(CALLS))
    assert whole.status == 504


@pytest.mark.parametrize("stream", [True, False])
def test_a_line_without_end_is_refused(
    gateway: Gateway, backend: ScriptedServer, stream: bool
) -> None:
    backend.use("huge_line:9", CALLS)
    outcome = answer(gateway, stream=stream)
    assert outcome.error is not None
    assert outcome.error["code"] == "upstream_error"
    assert outcome.status == 502


def test_the_same_delta_again_and_again_is_all_delivered(
    gateway: Gateway, backend: ScriptedServer
) -> None:
    backend.use("flood:20000", CALLS)
    outcome = answer(gateway, stream=True)
    assert outcome.content == "again " * 20_000
    assert values(outcome) == values(meant(CALLS))


def test_every_name_here_is_a_variant() -> None:
    assert {*SAYS_OTHERWISE, *UNFIT, *REFUSED, *BREAKS_ONCE, *HANGS, *SPECIAL} <= set(VARIANTS)
    assert len(HEALED) > 70
