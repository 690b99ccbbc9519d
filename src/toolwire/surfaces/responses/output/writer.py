"""Numbers and encodes the events of one stream."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode
_EVENT = b'event: %b\ndata: {"type":"%b","sequence_number":%d,%b\n\n'
_RESPONSE = b'event: %b\ndata: {"type":"%b","sequence_number":%d,"response":'
_LONG = 64 * 1024


def encoded_once(text: str) -> "str | msgspec.Raw":
    """Return a text that several events repeat. A long one is encoded now: line breaks and quotes
    take ten times as long as other characters."""
    return msgspec.Raw(_encode(text)) if len(text) > _LONG else text


class EventWriter:
    """Collects encoded events until `take`. Sequence numbers have no gaps."""

    live = True
    """Whether events are sent. If not, there is no need to build them."""

    def __init__(self) -> None:
        self._number = 0
        self._events: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self._events)

    def event(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Add an event."""
        name = kind.encode()
        self._events.append(_EVENT % (name, name, self._number, _encode(fields)[1:]))
        self._number += 1

    def response(self, kind: str, pieces: Iterable[bytes]) -> None:
        """Add an event about the whole response, which is already encoded."""
        name = kind.encode()
        self._events.append(_RESPONSE % (name, name, self._number))
        self._events.extend(pieces)
        self._events.append(b"}\n\n")
        self._number += 1

    def template(self, kind: str, fields: Mapping[str, Any], tail: bytes = b"") -> bytes:
        """Encode the constant part of an item's delta events once, for `delta`."""
        common = _encode(fields)[1:-1].replace(b"%", b"%%")
        name = kind.encode()
        head = b'event: %b\ndata: {"type":"%b","sequence_number":%%d,' % (name, name)
        return head + common + b',"delta":%b' + tail + b"}\n\n"

    def delta(self, template: bytes, text: str) -> None:
        """Add a delta event."""
        self._events.append(template % (self._number, _encode(text)))
        self._number += 1

    def take(self) -> bytes:
        """Return the events since the last call of `take`."""
        events = self._events
        taken = events[0] if len(events) == 1 else b"".join(events)
        events.clear()
        return taken


class NoEvents(EventWriter):
    """Discards events, for an answer that is sent whole."""

    live = False

    def event(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Nothing is sent."""

    def template(self, kind: str, fields: Mapping[str, Any], tail: bytes = b"") -> bytes:  # noqa: ARG002
        """Nothing is sent."""
        return b""

    def delta(self, template: bytes, text: str) -> None:
        """Nothing is sent."""
