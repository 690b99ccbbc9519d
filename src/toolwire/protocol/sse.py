"""Server-sent events: bytes in, events out, for any split of the bytes.

The decoder accepts what real backends send (LF, CRLF or CR; comments; no space after the colon; no
blank line at the end; `error: {...}`, as llama.cpp wrote until autumn 2025) and refuses only a line
that is longer than the limit.
"""

import msgspec

from toolwire.errors import UpstreamError

DONE = b"data: [DONE]\n\n"
KEEPALIVE = b": keepalive\n\n"
_LEAST = 64
"""A line of an event counts as this many bytes at least, which is what it takes in memory."""
_BOM = b"\xef\xbb\xbf"
_CR = 0x0D
"""As a number: Python raises and drops an exception for every search for bytes in bytes."""


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event: its data, with lines joined, and its type if it has one."""

    data: bytes
    event: bytes = b""


class SseDecoder:
    """Reads one stream. `feed` returns the events that are complete, `finish` the last one."""

    def __init__(self, *, max_line: int) -> None:
        self._max_line = max_line
        self._line = bytearray()
        """The beginning of a line, which may arrive in very many pieces."""
        self._data: list[bytes] = []
        self._size = 0
        self._event = b""
        self._after_cr = False
        self._at_start = True
        self._between = False
        """Whether the decoder is between two events."""

    def feed(self, block: bytes) -> list[SseEvent]:
        """Consume the next bytes and return the complete events."""
        self._between = False
        if self._after_cr and block:
            # The CR ended a line; an LF right after it belongs to the same line end.
            self._after_cr = False
            if block[:1] == b"\n":
                block = block[1:]
        if _CR in block:
            self._after_cr = block.endswith(b"\r")
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = block.split(b"\n")
        if self._line or len(lines) == 1:
            self._hold(lines[0])
            if len(lines) == 1:
                return []
            lines[0] = self._held()
        last = lines.pop()
        if last:
            self._hold(last)
        events = self._read(lines)
        self._between = not (last or self._data or self._event or self._after_cr)
        return events

    def one(self, block: bytes) -> bytes | None:
        """Return the event's data if these bytes are exactly one event. Otherwise return None; the
        caller must `feed` them.

        Most reads of a model's stream are exactly one event.
        """
        if (
            self._between
            and block.startswith(b"data: {")
            and block.endswith(b"\n\n")
            and block.count(b"\n") == 2
            and _CR not in block
            and len(block) <= self._max_line
        ):
            return block[6:-2]
        return None

    def finish(self) -> list[SseEvent]:
        """End the stream. A last event without its blank line still counts."""
        line = self._held()
        return self._read([line, b""] if line else [b""])

    def _hold(self, piece: bytes) -> None:
        self._line += piece
        if len(self._line) > self._max_line:
            raise self._too_large()

    def _held(self) -> bytes:
        line = bytes(self._line)
        self._line.clear()
        return line

    def _too_large(self) -> UpstreamError:
        return UpstreamError(
            f"The backend sent an event of more than {self._max_line} bytes in its stream."
        )

    def _read(self, lines: list[bytes]) -> list[SseEvent]:
        if self._at_start:
            self._at_start = False
            lines[0] = lines[0].removeprefix(_BOM)
        events = []
        for line in lines:
            if not line:
                if self._data:
                    data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                    events.append(SseEvent(data, self._event))
                    self._data = []
                    self._size = 0
                self._event = b""
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._size += max(len(line), _LEAST)
                if self._size > self._max_line:
                    raise self._too_large()
            elif line.startswith(b"event:"):
                self._event = line[6:].strip()
            elif line.startswith(b"error:"):
                self._read([b"event: error", b"data:" + line[6:]])
        return events
