"""The official Python client sees nothing odd, whatever the backend does, and every event is of
its types in strict mode."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pydantic
import pytest
from anthropic.types import RawMessageStreamEvent
from tests.e2e.gateway.process import Gateway, running
from tests.e2e.gateway.scenes import CALLS, TOOLS
from tests.e2e.gateway.test_variants import HEALED, SAYS_OTHERWISE
from tests.scripted import ScriptedServer

STRICT = pydantic.TypeAdapter[Any](RawMessageStreamEvent)
ASKED: Any = {
    "model": "m",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Weather?"}],
}
OFFERED: Any = [
    {"name": tool["function"]["name"], "input_schema": tool["function"]["parameters"]}
    for tool in TOOLS
]
LEFT_OUT = {"silence", "silence_headers", "silence_mid", "slow", "legacy_function_call"}
"""Variants that only cost time, and one that cannot say several calls in a whole answer."""


@pytest.fixture(scope="module")
def backend() -> Iterator[ScriptedServer]:
    """A scripted model; each test says with `use` how it speaks."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(backend: ScriptedServer) -> Iterator[Gateway]:
    """A Toolwire process, which at the end must have had no defect to report."""
    with running("--upstream", backend.url) as process:
        yield process
        assert "Traceback" not in process.log, process.log


@pytest.fixture(scope="module")
def client(gateway: Gateway) -> Iterator[anthropic.Anthropic]:
    """The client, which itself never tries again."""
    with client_of(gateway) as client:
        yield client


def client_of(gateway: Gateway) -> anthropic.Anthropic:
    url = gateway.url.removesuffix("/v1")
    return anthropic.Anthropic(base_url=url, api_key="any", max_retries=0, timeout=20)


def calls(message: Any) -> list[tuple[str, Any]]:
    return [(b.name, b.input) for b in message.content if b.type == "tool_use"]


@pytest.mark.parametrize("variant", sorted({*HEALED, *SAYS_OTHERWISE} - LEFT_OUT))
def test_a_stream_and_a_whole_answer_are_the_same(
    client: anthropic.Anthropic, backend: ScriptedServer, variant: str
) -> None:
    backend.use(variant, CALLS)
    whole = client.messages.create(**ASKED, tools=OFFERED)
    backend.use(variant, CALLS)
    with client.messages.stream(**ASKED, tools=OFFERED) as stream:
        for event in stream.response.read().decode().split("\n"):
            if event.startswith("data: ") and '"type":"ping"' not in event:
                STRICT.validate_json(event.removeprefix("data: "), strict=True)
    backend.use(variant, CALLS)
    with client.messages.stream(**ASKED, tools=OFFERED) as stream:
        streamed = stream.get_final_message()
    assert calls(streamed) == calls(whole)
    assert streamed.stop_reason == whole.stop_reason
    assert streamed.usage.output_tokens > 0
    assert streamed.usage.input_tokens > 0
