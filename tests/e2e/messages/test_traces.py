"""Traces of the Messages API, and `toolwire replay` of them."""

import json
from typing import Any

import anthropic
import pytest
from tests.e2e.arguments.test_traces import replayed
from tests.e2e.gateway.process import running
from tests.e2e.gateway.scenes import CALLS, TOOLS
from tests.scripted import ScriptedServer

ASKED: Any = {
    "model": "m",
    "max_tokens": 500,
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "Weather?"}],
    "tools": [
        {"name": tool["function"]["name"], "input_schema": tool["function"]["parameters"]}
        for tool in TOOLS
    ],
}


@pytest.mark.parametrize("stream", [False, True])
def test_a_trace_of_a_message_can_be_replayed(stream: bool) -> None:
    with (
        ScriptedServer("noindex", CALLS) as backend,
        running("--upstream", backend.url, "--trace-dir", "traces", "--trace-bodies") as gateway,
    ):
        url = gateway.url.removesuffix("/v1")
        with anthropic.Anthropic(base_url=url, api_key="any", max_retries=0) as client:
            answer = client.messages.with_raw_response.create(**ASKED, stream=stream)
            answer.http_response.read()
        path = gateway.folder / "traces" / f"{answer.headers['request-id']}.json"
        gateway.wait_for_log("/v1/messages")
        backend.wait_for(lambda: path.exists() and path.read_bytes().endswith(b"}"))
        trace = json.loads(path.read_bytes())
        done = replayed(path)
    assert trace["request"]["surface"] == "anthropic_messages"
    assert done.returncode == 0, done.stdout + done.stderr
