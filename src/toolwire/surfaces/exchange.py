"""HTTP as a surface sees it: a request, and the methods to answer it."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

Headers = list[tuple[str, str]]
JSON = ("content-type", "application/json")
ESTIMATED = ("toolwire-usage", "estimated")
STREAM = (
    ("content-type", "text/event-stream; charset=utf-8"),
    ("cache-control", "no-cache"),
    ("x-accel-buffering", "no"),
)

_MOST_NAMES = 32
_LONGEST_NAME = 80


class HttpRequest(msgspec.Struct):
    """A complete request."""

    method: str = ""
    target: bytes = b""
    headers: dict[bytes, bytes] = msgspec.field(default_factory=dict)
    body: bytes = b""
    keep_alive: bool = True
    chunked_ok: bool = True
    ticket: Any = None
    """What the server decided by the head, before it read the body."""
    _path: str = ""

    @property
    def path(self) -> str:
        """The path as sent, without the query. It is never percent-decoded."""
        path = self._path
        if not path:
            path = self._path = self.target.partition(b"?")[0].decode("latin-1")
        return path

    def header(self, name: bytes) -> str:
        """A header's value, or an empty string."""
        return self.headers.get(name, b"").decode("latin-1")


class Exchange(Protocol):
    """One request and its answer."""

    @property
    def request(self) -> HttpRequest:
        """The client's request."""
        ...

    @property
    def status(self) -> int:
        """The status of the answer; 0 before it is set."""
        ...

    @property
    def sent(self) -> int:
        """The number of body bytes sent."""
        ...

    @property
    def started(self) -> bool:
        """Whether any part of the answer has been sent."""
        ...

    @property
    def gone(self) -> bool:
        """Whether the client has disconnected."""
        ...

    def start(self, status: int, headers: Headers) -> None:
        """Start an answer of unknown length. Its head is sent with the first piece."""
        ...

    def write(self, data: bytes) -> None:
        """Send the next piece of a started answer. If it is empty, only the head is sent."""
        ...

    def end(self, last: bytes = b"") -> None:
        """End a started answer, with this last piece."""
        ...

    def abort(self) -> None:
        """Abort a started answer that cannot be completed."""
        ...

    def respond(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer."""
        ...

    def on_flow(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """Set the callbacks to pause and resume for a client that reads too slowly."""
        ...


def header_list(names: Sequence[str]) -> str:
    """Escape names, which may come from a client, for a header value."""
    shown = names[:_MOST_NAMES]
    safe = [header_word(name) for name in shown]
    more = len(names) - len(shown)
    return ", ".join([*safe, f"+{more} more"] if more else safe)


def header_word(name: str) -> str:
    """Escape one name for a header value."""
    return _quoted(name[:_LONGEST_NAME])


@lru_cache(maxsize=1024)
def _quoted(name: str) -> str:
    """Escape a name. Results are cached, so only short names come here."""
    return quote(name, safe="_-.:[]#/$@*+ ")
