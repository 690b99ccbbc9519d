"""Long texts, which several events of a stream repeat."""

import json

import pytest
from msgspec import Raw
from tests.contract.chatting import speaking
from tests.unit.surfaces.responses.responding import END, ask

from toolwire.protocol.fragments import Fragment
from toolwire.surfaces.responses.output.writer import encoded_once

LONG = 'Says "é".\n😀' * 10_000


def test_a_long_text_is_encoded_once() -> None:
    assert encoded_once("short") == "short"
    encoded = encoded_once(LONG)
    assert isinstance(encoded, Raw)
    assert json.loads(bytes(encoded)) == LONG


@pytest.mark.parametrize("kind", ["text", "reasoning"])
@pytest.mark.parametrize("stream", [False, True])
def test_a_long_text_arrives_unchanged_wherever_it_appears(kind: str, stream: bool) -> None:
    answer = ask(speaking(Fragment(**{kind: LONG}), END), stream=stream)
    part = "content" if kind == "text" else "summary"
    assert answer.output[0][part][0]["text"] == LONG
    if stream:
        done = [event for event in answer.stream if event["type"].endswith("_text.done")]
        assert done[0]["text"] == LONG
        assert "".join(e["delta"] for e in answer.stream if "delta" in e) == LONG
