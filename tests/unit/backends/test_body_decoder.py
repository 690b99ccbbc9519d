"""What comes in large pieces is marked, to be processed in steps."""

import json

import pytest

from toolwire.backends.openai.answer import AnswerDecoder


def chunk(size: int) -> bytes:
    return json.dumps({"choices": [{"index": 0, "delta": {"content": "x" * size}}]}).encode()


@pytest.mark.parametrize(("size", "large"), [(200_000, False), (300_000, True)])
def test_a_large_event_is_marked_in_one_read_and_in_many(size: int, large: bool) -> None:
    event = b"data: " + chunk(size) + b"\n\n"
    for pieces in ([event], [event[:100], event[100:]]):
        decoder = AnswerDecoder(max_line=8 << 20)
        decoder.feed(b": hello\n\n")
        made = [fragment for piece in pieces for fragment in decoder.feed(piece)]
        assert (len(made), decoder.large) == (1, large)


@pytest.mark.parametrize(("size", "large"), [(200_000, False), (300_000, True)])
def test_so_is_a_large_body(size: int, large: bool) -> None:
    decoder = AnswerDecoder(max_line=8 << 20, streamed=False)
    decoder.feed(chunk(size))
    assert (decoder.finish()[0].text, decoder.large) == ("x" * size, large)
