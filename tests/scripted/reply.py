"""What goes back over the connection, as a value: a head, then steps. `http.py` acts it out."""

import json
import math
from dataclasses import dataclass
from typing import Any, Literal

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Pause:
    """Send nothing for a while; for ever by default. Ends at once when the peer leaves."""

    seconds: float = math.inf


@dataclass(frozen=True)
class Cut:
    """End the connection here: with a reset (RST), or with a bare close (FIN)."""

    how: Literal["reset", "close"] = "reset"


Step = bytes | Pause | Cut

Framing = Literal["chunked", "length", "close"]


@dataclass(frozen=True)
class Reply:
    """A whole response. Each piece of bytes in `steps` is one write (and one HTTP chunk)."""

    status: int
    headers: Headers
    steps: tuple[Step, ...]
    framing: Framing
    length: int = 0
    """The content-length that is told when the framing is `length`, true or not."""
    before: tuple[Step, ...] = ()
    """Steps taken before the head is sent."""
    after: tuple[Step, ...] = ()
    """Steps taken after the end of the body."""
    raw_split: int = 0
    """Send the bytes, framing included, in writes of this size at most; 0 for whole writes."""

    @property
    def closes(self) -> bool:
        """Whether the connection ends with this reply."""
        return self.framing == "close" or ("connection", "close") in self.headers

    @property
    def body(self) -> bytes:
        """All the bytes of the body, joined."""
        return b"".join(step for step in self.steps if isinstance(step, bytes))


def json_reply(value: Any, status: int = 200, headers: Headers = ()) -> Reply:
    """Answer with a JSON body."""
    body = json.dumps(value).encode()
    return text_reply(body, "application/json", status, headers)


def text_reply(body: bytes, kind: str, status: int = 200, headers: Headers = ()) -> Reply:
    """Answer with a body of any other kind."""
    return Reply(status, (("content-type", kind), *headers), (body,), "length", len(body))


def error_reply(status: int, message: str, **fields: Any) -> Reply:
    """Answer with an error in OpenAI's form."""
    return json_reply(error_body(message, **fields), status)


def error_body(message: str, **fields: Any) -> dict[str, Any]:
    """Write an error in OpenAI's form: always four keys."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return {"error": error | fields}


def stream_reply(events: list[bytes]) -> Reply:
    """Answer with a stream of server-sent events, one write each."""
    headers = (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache"))
    return Reply(200, headers, tuple(events), "chunked")
