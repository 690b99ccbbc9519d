"""The SSE decoder gives the same events for every split of the bytes."""

from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from toolwire.protocol.sse import SseDecoder, SseEvent

LINE_ENDS = (b"\n", b"\r\n", b"\r")


class Stream(NamedTuple):
    """Bytes, where to cut them, and the events that they stand for."""

    sent: bytes
    cuts: list[int]
    events: list[SseEvent]

    @property
    def blocks(self) -> list[bytes]:
        """The bytes as they are read."""
        places = [0, *sorted(cut % (len(self.sent) + 1) for cut in self.cuts), len(self.sent)]
        return [self.sent[a:b] for a, b in pairwise(places)]


texts = st.text(alphabet='ab{}":[]DONE é\u2028', max_size=10).map(str.encode)


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    """Events written in any of the ways that backends write them."""
    end = draw(st.sampled_from(LINE_ENDS))
    sent = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    events = []
    for _ in range(draw(st.integers(0, 4))):
        lines = draw(st.lists(texts, min_size=1, max_size=3))
        name = draw(st.sampled_from([b"", b"error", b"message"]))
        written = [b"data:" + draw(st.sampled_from([b" ", b""])) + line for line in lines]
        lines = [line.removeprefix(b"data:").removeprefix(b" ") for line in written]
        noise = draw(st.lists(st.sampled_from([b": ping", b":", b"id: 7", b"odd"]), max_size=2))
        head = [b"event: " + name] if name else []
        sent += end.join([*noise, *head, *written, b"", b""])
        sent += end * draw(st.integers(0, 2))
        events.append(SseEvent(b"\n".join(lines), name))
    if events and draw(st.booleans()):
        sent = sent.rstrip(b"\r\n")
    return Stream(sent, draw(st.lists(st.integers(0, 300), max_size=6)), events)


def decoded(kind: type[SseDecoder], blocks: list[bytes]) -> list[SseEvent]:
    decoder = kind(max_line=1_000)
    return [event for block in blocks for event in decoder.feed(block)] + decoder.finish()


def holds(kind: type[SseDecoder], stream: Stream) -> bool:
    """The law: whole, in these pieces and byte by byte, it is what was written."""
    each = [stream.sent[at : at + 1] for at in range(len(stream.sent))]
    ways = ([stream.sent], stream.blocks, each)
    return all(decoded(kind, blocks) == stream.events for blocks in ways)


@settings(max_examples=200, deadline=None)
@given(streams())
def test_the_events_do_not_depend_on_the_reads(stream: Stream) -> None:
    assert holds(SseDecoder, stream)


class ForgetsTheCr(SseDecoder):
    """A CR at the end of a read and an LF at the start of the next are two line ends."""

    def feed(self, block: bytes) -> list[SseEvent]:
        self._after_cr = False
        return super().feed(block)


class ForgetsTheRest(SseDecoder):
    """Half a line at the end of a read is lost."""

    def feed(self, block: bytes) -> list[SseEvent]:
        events = super().feed(block)
        if events:
            self._line.clear()
        return events


class EndsEventsWithReads(SseDecoder):
    """Each read is taken for a whole number of events."""

    def feed(self, block: bytes) -> list[SseEvent]:
        return [*super().feed(block), *super().finish()]


class LosesTheLast(SseDecoder):
    """An event without its blank line is lost."""

    def finish(self) -> list[SseEvent]:
        return []


class KeepsTheName(SseDecoder):
    """The type of one event holds for the next, too."""

    def _read(self, lines: list[bytes]) -> list[SseEvent]:
        name = b""
        out = []
        for event in super()._read(lines):
            name = event.event or name
            out.append(SseEvent(event.data, name))
        return out


QUICKLY = settings(max_examples=2_000, phases=[Phase.generate], deadline=None, database=None)
MUTANTS = (ForgetsTheCr, ForgetsTheRest, EndsEventsWithReads, LosesTheLast, KeepsTheName)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_law_catches(mutant: type[SseDecoder]) -> None:
    found: Any = find(
        streams(),
        lambda stream: not holds(mutant, stream),
        settings=QUICKLY,
    )
    assert holds(SseDecoder, found)
