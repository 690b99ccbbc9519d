"""What a backend says of its answer as a whole is kept: fingerprint, tier, details of usage."""

from typing import Any

import pytest
from tests.contract.chatting import chat, decoding, streaming
from tests.contract.wire import body

ABOUT = {"system_fingerprint": "fp_1", "service_tier": "default"}
USAGE = {
    "prompt_tokens": 5,
    "completion_tokens": 3,
    "total_tokens": 8,
    "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 2},
}


def chunks(**about: Any) -> list[dict[str, Any]]:
    return [
        {"choices": [{"index": 0, "delta": {"content": "Hi"}}], **about},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], **about},
        {"choices": [], "usage": USAGE, **about},
    ]


def kept(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: answer[name] for name in ABOUT if name in answer}


def test_a_whole_answer_keeps_them() -> None:
    answer = chat(body(), streaming(*chunks(**ABOUT))).json
    assert kept(answer) == ABOUT
    assert answer["usage"] == USAGE


def test_the_last_chunks_of_a_stream_keep_them() -> None:
    raw = body(stream=True, stream_options={"include_usage": True})
    *_, end, usage = chat(raw, streaming(*chunks(**ABOUT))).chunks
    assert kept(end) == kept(usage) == ABOUT
    assert usage["usage"] == USAGE


def test_a_body_is_read_the_same_way() -> None:
    raw = b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"service_tier":"flex"}'
    assert kept(chat(body(), decoding([raw], streamed=False)).json) == {"service_tier": "flex"}


@pytest.mark.parametrize("odd", [None, "", 5.5, [], {}])
def test_nothing_is_made_of_what_is_none(odd: Any) -> None:
    answer = chat(body(), streaming(*chunks(system_fingerprint=odd))).json
    assert kept(answer) == {}
    assert answer["choices"][0]["message"]["content"] == "Hi"
