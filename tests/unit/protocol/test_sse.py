import pytest

from toolwire.errors import UpstreamError
from toolwire.protocol.sse import SseDecoder, SseEvent


def decode(*blocks: bytes, max_line: int = 1_000) -> list[SseEvent]:
    decoder = SseDecoder(max_line=max_line)
    events = [event for block in blocks for event in decoder.feed(block)]
    return [*events, *decoder.finish()]


def data(*blocks: bytes) -> list[bytes]:
    return [event.data for event in decode(*blocks)]


ONE_EVENT = {
    "LF": b"data: x\n\n",
    "CRLF": b"data: x\r\n\r\n",
    "CR": b"data: x\r\r",
    "mixed": b"data: x\r\n\n",
    "no space": b"data:x\n\n",
    "byte order mark": b"\xef\xbb\xbfdata: x\n\n",
    "comment before": b": hello\n\ndata: x\n\n",
    "comment between": b"data: x\n: hello\n\n",
    "comment alone": b":\ndata: x\n\n",
    "other fields": b"id: 7\nretry: 3\ndata: x\nfoo\n\n",
    "blank lines around": b"\n\n\ndata: x\n\n\n\n",
    "no blank line at the end": b"data: x\n",
    "no line end at the end": b"data: x",
}


@pytest.mark.parametrize("stream", ONE_EVENT.values(), ids=ONE_EVENT)
def test_one_event_is_one_event_in_every_form(stream: bytes) -> None:
    assert data(stream) == [b"x"]
    assert data(*(stream[at : at + 1] for at in range(len(stream)))) == [b"x"]


def test_several_events_may_come_in_one_read() -> None:
    assert data(b"data: a\n\ndata: b\n\ndata: c\n\n") == [b"a", b"b", b"c"]


def test_lines_of_one_event_are_joined() -> None:
    assert data(b"data: a\ndata:\ndata:  b\n\n") == [b"a\n\n b"]


def test_an_event_without_data_is_none() -> None:
    assert decode(b"event: ping\n\ndata: x\n\n") == [SseEvent(b"x")]


def test_the_type_holds_for_one_event() -> None:
    assert decode(b"event: error\ndata: a\n\ndata: b\n\n") == [
        SseEvent(b"a", b"error"),
        SseEvent(b"b"),
    ]


@pytest.mark.parametrize("line", [b"error: a", b"error:a", b"error: a\r"])
def test_a_field_that_is_called_error_is_an_event_of_that_type(line: bytes) -> None:
    stream = line + b"\n\ndata: b\n\n"
    events = [SseEvent(b"a", b"error"), SseEvent(b"b")]
    assert decode(stream) == events
    assert decode(*(stream[at : at + 1] for at in range(len(stream)))) == events
    assert decode(b"data: b\n\n" + line) == events[::-1]


def test_empty_data_is_an_event() -> None:
    assert data(b"data:\n\n") == [b""]
    assert data(b"x: y\n\n", b"data: \n\n") == [b""]


def test_unicode_line_ends_are_no_line_ends() -> None:
    text = "a\u2028b\x0bc\x85d".encode()
    assert data(b"data: " + text + b"\n\n") == [text]


def test_nothing_comes_twice_after_the_end() -> None:
    decoder = SseDecoder(max_line=100)
    decoder.feed(b"data: x")
    assert [event.data for event in decoder.finish()] == [b"x"]
    assert decoder.finish() == []


@pytest.mark.parametrize(
    "blocks",
    [
        (b"data: " + b"x" * 2_000 + b"\n\n",),
        (b"data: x\n\n", b"data: " + b"x" * 2_000 + b"\n\n"),
        (b"data: " + b"x" * 600, b"x" * 600),
        (b"data: " + b"x" * 600 + b"\n", b"data: " + b"x" * 600 + b"\n"),
        (b"error: x\n" * 600,),
        tuple(b"x" for _ in range(1_001)),
    ],
    ids=["whole", "whole, later", "in pieces", "in lines", "in lines of errors", "without end"],
)
def test_what_is_too_long_is_refused(blocks: tuple[bytes, ...]) -> None:
    with pytest.raises(UpstreamError, match="1000 bytes"):
        decode(*blocks)


def test_many_small_events_are_never_too_long() -> None:
    assert len(data(b"data: xxxxxxxxxx\n\n" * 500)) == 500
