"""Variants of the bytes of the event stream."""

import io
import json
from dataclasses import replace
from itertools import cycle, takewhile
from typing import Any

from tests.scripted.reply import Reply
from tests.scripted.variants.base import Exchange, Variant

MIB = b"x" * 2**20


class NoDone(Variant, name="nodone"):
    """The stream ends without `[DONE]`."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return events[:-1]


class Comments(Variant, name="comments"):
    """There is a comment before every event."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [b": scripted keep-alive\n\n" + event for event in events]


class Crlf(Variant, name="crlf"):
    """Lines end with CR LF."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [event.replace(b"\n", b"\r\n") for event in events]


class CrOnly(Variant, name="cr_only"):
    """Lines end with CR alone, which the SSE standard allows."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [event.replace(b"\n", b"\r") for event in events]


class NoSpace(Variant, name="nospace"):
    """There is no space after `data:`."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [event.replace(b"data: ", b"data:", 1) for event in events]


class EventFields(Variant, name="event_fields"):
    """Events have `event:`, `id:` and `retry:` lines too."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [
            b"event: message\nid: %d\nretry: 1000\n%s" % (number, event)
            for number, event in enumerate(events)
        ]


class MultilineData(Variant, name="multiline_data"):
    """The JSON of each chunk is spread over several `data:` lines."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [_rewritten(event, indent=0) for event in events]


class Bom(Variant, name="bom"):
    """The stream starts with a byte order mark."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [b"\xef\xbb\xbf" + events[0], *events[1:]]


class RawUnicode(Variant, name="raw_unicode"):
    """JSON is UTF-8 with no escapes, so that a split can fall inside a character."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [_rewritten(event, ensure_ascii=False) for event in events]

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        if reply.framing != "length":
            return reply
        body = json.dumps(json.loads(reply.body), ensure_ascii=False).encode()
        return replace(reply, steps=(body,), length=len(body))


class NoLastBlank(Variant, name="nolastblank"):
    """The last event ends with its line: the blank line after it is missing."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [*events[:-1], events[-1].removesuffix(b"\n")]


class SplitEvents(Variant, name="split_events"):
    """Events come in pieces of 1 to 7 bytes, one write (and HTTP chunk) each."""

    def events(self, events: list[bytes]) -> list[bytes]:
        rest = io.BytesIO(b"".join(events))
        pieces = (rest.read(size) for size in cycle(range(1, 8)))
        return list(takewhile(bool, pieces))


class SplitBytes(Variant, name="split_bytes"):
    """Every byte of the reply, head and HTTP chunk sizes included, is a write of its own."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, raw_split=1)


class JoinedEvents(Variant, name="joined_events"):
    """All events come in one write."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [b"".join(events)]


class TrailingGarbage(Variant, name="trailing_garbage"):
    """There is more after `[DONE]`: a chunk and bytes that are no event."""

    def events(self, events: list[bytes]) -> list[bytes]:
        return [*events, events[0], b"garbage \xff\x00 after the end\n\n"]


class Malformed(Variant, name="malformed"):
    """One event in the middle is broken JSON, the others are fine, once."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        if reply.framing != "chunked" or not self.happens(exchange):
            return reply
        middle = len(reply.steps) // 2
        broken = b'data: {"id": "chatcmpl-broken", "choices": [{"delta\n\n'
        return replace(reply, steps=(*reply.steps[:middle], broken, *reply.steps[middle:]))


class HugeLine(Variant, name="huge_line"):
    """After the first event comes one line of 64 MiB (or `:N` MiB), and no end of it."""

    default_arg = "64"

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        line = (b'data: {"x": "', *[MIB] * int(self.arg))
        return replace(reply, steps=(*reply.steps[:1], *line), framing="chunked")


class Flood(Variant, name="flood"):
    """One and the same text delta comes 20,000 times (or `:N`) before the answer."""

    default_arg = "20000"

    def events(self, events: list[bytes]) -> list[bytes]:
        chunk = json.loads(events[0].removeprefix(b"data: "))
        chunk["choices"][0]["delta"] = {"content": "again "}
        again = b"data: %s\n\n" % json.dumps(chunk).encode()
        return [events[0], *[again] * int(self.arg), *events[1:]]


class CloseDelimited(Variant, name="close_delimited"):
    """The body has neither length nor chunks: it ends with the connection."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, framing="close")


class StreamLength(Variant, name="stream_length"):
    """The event stream has a content-length instead of chunked coding."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        return replace(reply, framing="length", length=len(reply.body))


class PlainType(Variant, name="plain_type"):
    """The content type is text/plain, whatever the body is."""

    def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        kept = [field for field in reply.headers if field[0] != "content-type"]
        return replace(reply, headers=(("content-type", "text/plain"), *kept))


class NonStreamForce(Variant, name="nonstream_force"):
    """The answer is one JSON body even if a stream was asked for."""

    def streams(self, *, asked: bool) -> bool:
        return False


class StreamForce(Variant, name="stream_force"):
    """The answer is a stream even if none was asked for."""

    def streams(self, *, asked: bool) -> bool:
        return True


def _rewritten(event: bytes, **style: Any) -> bytes:
    """Write the JSON of an event in another style, one `data:` per line of it."""
    data = event.removeprefix(b"data: ")
    if not data.startswith(b"{"):
        return event
    lines = json.dumps(json.loads(data), **style).encode().splitlines()
    return b"".join(b"data: %s\n" % line for line in lines) + b"\n"
