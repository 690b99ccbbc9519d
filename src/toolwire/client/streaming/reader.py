"""Reads the bytes of an answer: a stream of events, or one JSON body, whichever the server sends.

Some servers stream without being asked, and others do not stream when asked.
"""

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from toolwire.client.answer import CallDelta, Chunk, ChunkChoice, Completion, Delta, FunctionDelta
from toolwire.client.errors import BadAnswer, StreamBroken
from toolwire.client.streaming.accumulate import Accumulator
from toolwire.client.wire import read_chunk, read_completion, read_error, shown
from toolwire.errors import UpstreamError
from toolwire.protocol.sse import SseDecoder, SseEvent

ReadChunk: TypeAlias = Callable[[bytes], Chunk]
"""Reads the data of one event."""

LONGEST_EVENT = 64 << 20
_EVENTS = (b"data:", b"event:", b"id:", b"retry:", b":")
_BOM = b"\xef\xbb\xbf"


class StreamReader:
    """Bytes in, chunks out, for any split of the bytes. One per answer."""

    def __init__(self, *, as_events: bool, read: ReadChunk = read_chunk) -> None:
        self._sse = SseDecoder(max_line=LONGEST_EVENT)
        self._as_events = as_events
        self._whole: list[bytes] = []
        self._first = b""
        self._accumulator = Accumulator()
        self._read_chunk = read
        self.done = False

    def feed(self, block: bytes) -> list[Chunk]:
        """Consume the next bytes. Return the complete chunks."""
        self._first = self._first or block
        if not self._as_events:
            self._whole.append(block)
            return []
        try:
            return self._read(self._sse.feed(block))
        except UpstreamError as error:
            raise BadAnswer(str(error)) from None

    def finish(self) -> list[Chunk]:
        """Return the last chunks. Raises `StreamBroken` if the answer is incomplete."""
        if self._as_events:
            chunks = self._read(self._sse.finish())
        else:
            chunks = [chunk_of(read_completion(b"".join(self._whole)))]
            self._accumulator.feed(chunks[0])
            self.done = True
        if not (self.done or self._accumulator.finished):
            raise self._broken()
        return chunks

    def answer(self) -> Completion:
        """Return the answer so far."""
        answer = self._accumulator.answer()
        if not answer.choices:
            raise BadAnswer("The stream had no answer in it.")
        if not self._accumulator.finished and not all(map(_is_json, _arguments(answer))):
            raise StreamBroken("The stream ended in the middle of a tool call.")
        return answer

    def _broken(self) -> BadAnswer:
        if self._accumulator.begun or not self._first:
            return StreamBroken("The stream ended before the answer did.")
        return BadAnswer(f"The server did not answer with a stream: {shown(self._first)}")

    def _read(self, events: list[SseEvent]) -> list[Chunk]:
        chunks = []
        for event in events:
            if self.done:
                break
            if event.data == b"[DONE]":
                self.done = True
            elif event.event == b"error":
                raise read_error(event.data)
            elif event.data:
                chunk = self._read_chunk(event.data)
                self._accumulator.feed(chunk)
                chunks.append(chunk)
        return chunks


def read_body(body: bytes) -> Completion:
    """Read a whole answer from one JSON body or from events."""
    if not body.removeprefix(_BOM).lstrip().startswith(_EVENTS):
        return read_completion(body)
    reader = StreamReader(as_events=True)
    reader.feed(body)
    if not reader.done:
        reader.finish()
    return reader.answer()


def chunk_of(answer: Completion) -> Chunk:
    """Convert a whole answer to one chunk."""
    return Chunk(
        choices=[
            ChunkChoice(_delta_of(answer, n), choice.index, choice.finish_reason, choice.logprobs)
            for n, choice in enumerate(answer.choices)
        ],
        id=answer.id,
        created=answer.created,
        model=answer.model,
        usage=answer.usage,
        system_fingerprint=answer.system_fingerprint,
        service_tier=answer.service_tier,
    )


def _delta_of(answer: Completion, number: int) -> Delta:
    message = answer.choices[number].message
    calls = [
        CallDelta(n, call.id, FunctionDelta(call.function.name, call.function.arguments), call.type)
        for n, call in enumerate(message.tool_calls or ())
    ]
    return Delta(
        message.content, calls or None, message.role, message.refusal, message.reasoning_content
    )


def _arguments(answer: Completion) -> list[str]:
    messages = [choice.message for choice in answer.choices]
    return [call.function.arguments for one in messages for call in one.tool_calls or ()]


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text or "{}")
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True
