"""What a backend answers: the event stream alone, and a whole answer up to what the client sees.

The laws: nothing but `UpstreamError`; the events, and the fragments, do not depend on how the bytes
are cut; calls are well-formed; a stream ends in `[DONE]` or in an error event, never in both.
"""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from tests.contract.chatting import Backend, Client, chat
from tests.contract.wire import body, tool
from tests.fuzz.cutting import each, pieces
from tests.fuzz.judge import check
from tests.scripted import VARIANTS
from tests.scripted.play import play_stream, play_whole

from toolwire.backends.openai.answer import AnswerDecoder
from toolwire.errors import UpstreamError
from toolwire.formats.detection.signatures import signatures
from toolwire.protocol.fragments import Fragment
from toolwire.protocol.sse import SseDecoder, SseEvent

_SCRIPT = [{"text": "Well. ", "calls": [["f", {"a": 1}], ["g", {}]]}]
_ROOM = 1 << 20
_NARROW = 48
_LONGEST_SEED = 8 << 10
_TOOLS = [tool("f", {"type": "object", "properties": {"a": {"type": "integer"}}}), tool("g")]


def answer_seeds() -> list[bytes]:
    """What the scripted backend says, in each of its odd ways, streamed and whole."""
    signatures()  # the gateway makes them at start, so no answer is charged for them
    bodies = {
        play(variant, _SCRIPT).body for variant in VARIANTS for play in (play_stream, play_whole)
    }
    return sorted(body for body in bodies if len(body) <= _LONGEST_SEED)


def run_sse(data: bytes) -> object:
    """Read the bytes as an event stream, however they are cut, and with little room."""
    whole = _sse([data], _ROOM)
    check(whole == _sse(pieces(data), _ROOM), "the events do not depend on the reads")
    if len(data) < 600:
        check(whole == _sse(each(data), _ROOM), "the events do not depend on the reads, by bytes")
    try:
        narrow = _sse(pieces(data), _NARROW)
    except UpstreamError:
        return len(whole) > 3, "too long"
    check(all(len(line) <= _NARROW for e in narrow for line in e.data.split(b"\n")), "lines fit")
    return min(len(whole), 8), {event.event for event in whole} == {b""}


def _sse(blocks: Iterable[bytes], room: int) -> list[SseEvent]:
    decoder = SseDecoder(max_line=room)
    return [*(event for block in blocks for event in decoder.feed(block)), *decoder.finish()]


@cache
def _asking(*, stream: bool) -> bytes:
    return body(tools=_TOOLS, stream=stream)


def run_answer(data: bytes) -> object:
    """Read the bytes as an answer, and see what a client would."""
    streamed = not data.startswith(b"{")
    whole, error, done = _answer([data], streamed=streamed)
    cut, cut_error, cut_done = _answer(pieces(data), streamed=streamed)
    check(type(error) is type(cut_error), "an error does not depend on the reads")
    heard, heard_cut = _joined(whole), _joined(cut)
    if error is not None:
        # What came in the same read as what is wrong is lost with it.
        heard_cut = heard_cut[: len(heard)]
    check((heard, done) == (heard_cut, cut_done), "fragments do not depend on the reads")
    shapes = []
    for stream in (True, False):
        backend = Backend(cut, done=done, error=error)
        client = chat(_asking(stream=stream), backend, mode="hybrid")
        shapes.append(_seen(client, stream=stream))
    return tuple(shapes)


def _answer(
    blocks: Iterable[bytes], *, streamed: bool
) -> tuple[list[list[Fragment]], UpstreamError | None, bool]:
    decoder = AnswerDecoder(streamed=streamed, max_line=_ROOM)
    heard: list[list[Fragment]] = []
    try:
        for block in filter(None, blocks):
            heard.append(decoder.feed(block))  # noqa: PERF401 - kept up to where it fails
        heard.append(decoder.finish())
    except UpstreamError as error:
        return heard, error, decoder.done
    return heard, None, decoder.done


def _joined(heard: list[list[Fragment]]) -> list[Fragment]:
    return [fragment for block in heard for fragment in block]


def _seen(client: Client, *, stream: bool) -> object:
    """The kind of what a client got, after a check that it can be read."""
    check(
        client.status in (200, 400, 429, 502, 503, 504),
        f"the status is documented: {client.status}",
    )
    if client.status != 200 or not stream:
        value = client.json
        return client.status, tuple(sorted(value)), _finishes(value)
    events = client.events
    check(events, "a stream is never empty")
    errors = [at for at, event in enumerate(events) if isinstance(event, dict) and "error" in event]
    last = len(events) - 1
    check((events[-1] == "[DONE]") != bool(errors), "a stream ends in [DONE] or in an error")
    check(errors in ([], [last]), "nothing comes after an error")
    chunks = [event for event in events if isinstance(event, dict) and "choices" in event]
    _check_calls(chunks)
    return 200, bool(errors), tuple(sorted({f for chunk in chunks for f in _finishes(chunk)}))


def _finishes(value: Any) -> tuple[str, ...]:
    return tuple(str(choice["finish_reason"]) for choice in value.get("choices", ())[:3])


def _check_calls(chunks: list[Any]) -> None:
    """Each call begins with its id, in order; only the last one is added to."""
    begun: dict[int, int] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            for call in choice["delta"].get("tool_calls") or ():
                at = choice["index"]
                if "id" in call:
                    check(call["index"] == begun.get(at, 0), "calls are numbered without a gap")
                    check(call["id"], "a call has an id")
                    begun[at] = call["index"] + 1
                else:
                    check(call["index"] == begun.get(at, 0) - 1, "only the last call goes on")
                json.dumps(call).encode()
