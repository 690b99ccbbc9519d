"""Every fault of the scripted server: the run ends well, or an error says what is wrong."""

from typing import Any

import pytest
from tests.scripted import VARIANTS, ScriptedServer

from toolwire.client import Client, ClientError, tool

SCRIPT: list[Any] = [
    {"calls": [["read", {"page": 1}], ["read", {"page": 2}]]}, {"calls": [["read", {"page": 3}]]},
    "The end.",
]  # fmt: skip
FAILS = {
    # The server refuses, or fails for ever.
    "ctxlen", "err400", "err401", "err404", "err429_always", "err429_retry7", "err500_always",
    "err_detail", "err_empty", "err_key", "err_plain", "err_string", "only_completions", "redirect",
    "refuses_tools", "err200", "err403", "err413", "err429_quota",
    # What it sends is no answer.
    "empty200", "garbage_json", "html200", "huge_line", "midstream_error", "midstream_error_event",
    "midstream_error_key",
    # It is silent.
    "hang_headers", "hang_first", "hang_mid",
}  # fmt: skip
BROKEN_STREAM = {"cut_early", "cut_in_call", "midstream_close", "midstream_cut", "malformed"}
BROKEN = {"done_in_call", "eof_early", "eof_in_call"}
NO_ARGUMENTS = {"args_absent", "args_null"}
SLOW = {"split_events", "silence", "silence_headers", "silence_mid", "slow", "flood"}
"""They say nothing new here, and take long."""


@tool
def read(page: int) -> str:
    """Read a page."""
    return f"page {page}"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("variant", sorted(set(VARIANTS) - SLOW))
def test_a_fault_of_the_server_is_survived_or_said(
    backend: ScriptedServer, variant: str, stream: bool
) -> None:
    backend.use(variant, SCRIPT)
    fails = FAILS | BROKEN | (BROKEN_STREAM if stream else {"hang_end"})
    with Client(backend.url, model="m", timeout=0.7, max_retries=1) as client:
        if variant in fails:
            with pytest.raises(ClientError) as caught:
                client.run("Read.", tools=[read], stream=stream)
            assert str(caught.value)
            return
        result = client.run("Read.", tools=[read], stream=stream)
    if variant in NO_ARGUMENTS:
        assert all("page: it is required" in one.result.text for one in result.calls)
    elif variant not in UNLIKE:
        assert [one.result.text for one in result.calls] == ["page 1", "page 2", "page 3"]
        assert result.text == "The end."


UNLIKE = {
    # The model itself says something else.
    "badargs", "unknown_tool", "empty_answer", "text_call", "reasoning_tags", "ignores_tools",
    "legacy_function_call",
}  # fmt: skip


def test_a_bad_call_is_answered_and_the_next_one_is_made(backend: ScriptedServer) -> None:
    for variant, told in (("badargs", "they are not JSON"), ("unknown_tool", "there is no tool")):
        backend.use(variant, SCRIPT)
        with Client(backend.url, model="m") as client:
            result = client.run("Read.", tools=[read])
        assert told in result.calls[0].result.text
        assert result.calls[-1].result.text == "page 3"
        assert result.text == "The end."
