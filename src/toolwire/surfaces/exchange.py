"""What a surface sees of HTTP: a request that was read, and the means to answer it."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote

import msgspec

from toolwire.gateway.run import Report
from toolwire.protocol.events import Usage

Headers = list[tuple[str, str]]

_MOST_NAMES = 32
_LONGEST_NAME = 80


class HttpRequest(msgspec.Struct):
    """A request, read completely."""

    method: str = ""
    target: bytes = b""
    headers: dict[bytes, bytes] = msgspec.field(default_factory=dict)
    body: bytes = b""
    keep_alive: bool = True
    chunked_ok: bool = True

    @property
    def path(self) -> str:
        """The path as it was sent, without the query: never decoded, so nothing can hide in it."""
        return self.target.partition(b"?")[0].decode("latin-1")

    def header(self, name: bytes) -> str:
        """A header's value, or an empty string."""
        return self.headers.get(name, b"").decode("latin-1")


class Exchange(Protocol):
    """One request and the answer to it."""

    @property
    def request(self) -> HttpRequest:
        """What the client sent."""
        ...

    @property
    def status(self) -> int:
        """The answer's status; 0 before there is one."""
        ...

    @property
    def sent(self) -> int:
        """How many bytes of the answer's body were sent."""
        ...

    @property
    def started(self) -> bool:
        """Whether any of the answer is on its way."""
        ...

    @property
    def gone(self) -> bool:
        """Whether the client has left."""
        ...

    def start(self, status: int, headers: Headers) -> None:
        """Begin an answer of unknown length. Its head goes out with the first piece of it."""
        ...

    def write(self, data: bytes) -> None:
        """Send the next piece of a begun answer; if it is empty, no more than the head."""
        ...

    def end(self, last: bytes = b"") -> None:
        """The begun answer is complete, with this last piece."""
        ...

    def abort(self) -> None:
        """The begun answer cannot be completed."""
        ...

    def respond(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer."""
        ...

    def on_flow(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        """What to do when the client does not keep up, and when it has caught up."""
        ...


class Visit(msgspec.Struct):
    """The facts of one request, for headers, log and metrics; filled in as it goes."""

    request_id: str
    page: str = ""
    """The origin of the web page that may read the answer."""
    key_name: str | None = None
    profile: str = ""
    model: str | None = None
    route: str = ""
    backend: str = ""
    way: str = ""
    stream: bool = False
    report: Report | None = None
    """How the turn went, if there was one."""
    usage: Usage | None = None
    error: str | None = None

    def headers(self) -> Headers:
        """The headers that every answer has."""
        headers = [("x-request-id", self.request_id), ("toolwire-request-id", self.request_id)]
        if self.page:
            headers += [
                ("access-control-allow-origin", self.page),
                ("access-control-expose-headers", "*"),
                ("vary", "origin"),
            ]
        return headers


def header_list(names: Sequence[str]) -> str:
    """Names that may come from a client, as a header value: nothing in them can break out."""
    shown = names[:_MOST_NAMES]
    safe = [header_word(name) for name in shown]
    more = len(names) - len(shown)
    return ", ".join([*safe, f"+{more} more"] if more else safe)


def header_word(name: str) -> str:
    """One name as a header value."""
    return _quoted(name[:_LONGEST_NAME])


@lru_cache(maxsize=1024)
def _quoted(name: str) -> str:
    """A name is remembered, so it must be short: some are a client's, of any length."""
    return quote(name, safe="_-.:[]#/$@*+ ")
