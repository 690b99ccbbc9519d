"""A minimal client for the server under test: one request at a time. Not for production."""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from toolwire.errors import UpstreamError
from toolwire.protocol.sse import SseDecoder

_LINE_LIMIT = 8 << 20
_QUOTED = 200


MOST_TOKENS = 2048
"""Enough to think and call; a small model that rambles would fill its context."""


class Unreachable(Exception):
    """The server cannot be reached; the message says why."""


class InvalidURL(Unreachable):
    """There cannot be a server at such a URL; the message says why."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole response: its status, and its body, decoded if it is JSON."""

    status: int
    text: str
    body: Any = None

    @property
    def error_message(self) -> str:
        """The server's error message."""
        error = self.body.get("error") if isinstance(self.body, dict) else None
        message = error.get("message") if isinstance(error, dict) else error
        return f"HTTP {self.status}: {str(message or self.text)[:_QUOTED]}"


@dataclass(frozen=True, slots=True)
class Streamed:
    """The events of a stream, and whether it ended correctly."""

    status: int
    chunks: list[Any] = field(default_factory=list)
    done: bool = False
    reply: Reply | None = None


class LiveEndpoint:
    """A server, one of its models, and its credentials."""

    is_toolwire = False
    """Whether the server is Toolwire, judging by its responses so far."""

    def __init__(self, url: str, model: str, key: str | None = None, timeout: float = 60) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidURL(f"{url!r} is not the URL of a server: write http://host:port/v1")
        self.url = url.rstrip("/")
        self.model = model
        self._parts = parts
        self._key = key
        self.timeout = timeout
        self._defaults: dict[str, Any] = {"temperature": 0, "max_tokens": MOST_TOKENS}

    @property
    def host(self) -> str:
        """The host name or address."""
        return str(self._parts.hostname)

    def models(self) -> Reply:
        """The list of models."""
        return self.get("/models")

    def get(self, path: str, *, at_root: bool = False) -> Reply:
        """Get a path below the base URL, or below the server's root."""
        with self._sent("GET", path, None, at_root=at_root) as response:
            return _reply(response)

    def chat(self, **body: Any) -> Reply:
        """Request a turn without streaming. Drops a default that the model rejects."""
        with self._sent("POST", "/chat/completions", self._body(body)) as response:
            reply = _reply(response)
        rejected = [name for name in self._defaults if name in reply.text]
        if reply.status in (400, 422) and rejected:
            self._defaults = {k: v for k, v in self._defaults.items() if k not in rejected}
            return self.chat(**body)
        return reply

    def stream(self, **body: Any) -> Streamed:
        """Request a streamed turn."""
        whole = self._body({**body, "stream": True})
        with self._sent("POST", "/chat/completions", whole) as response:
            if response.status != 200:
                return Streamed(response.status, reply=_reply(response))
            return _read_stream(response)

    def _body(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"model": self.model, **self._defaults, **body}

    @contextmanager
    def _sent(
        self, method: str, path: str, body: dict[str, Any] | None, *, at_root: bool = False
    ) -> Iterator[http.client.HTTPResponse]:
        connection = self._connection()
        headers = {"Content-Type": "application/json", "Accept": "*/*"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        data = None if body is None else json.dumps(body).encode()
        base = "" if at_root else self._parts.path.rstrip("/")
        try:
            connection.request(method, base + path, data, headers)
            response = connection.getresponse()
            self.is_toolwire = self.is_toolwire or "toolwire-request-id" in response.headers
            yield response
        except (OSError, http.client.HTTPException, UpstreamError) as error:
            raise Unreachable(f"{self.url}: {_why(error)}") from None
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = str(self._parts.hostname), self._parts.port
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self.timeout)
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=self.timeout, context=context)


def _reply(response: http.client.HTTPResponse) -> Reply:
    text = response.read().decode("utf-8", "replace")
    try:
        return Reply(response.status, text, json.loads(text))
    except (ValueError, RecursionError):
        return Reply(response.status, text)


def _read_stream(response: http.client.HTTPResponse) -> Streamed:
    decoder = SseDecoder(max_line=_LINE_LIMIT)
    events = []
    while block := response.read1(1 << 16):
        events += decoder.feed(block)
    events += decoder.finish()
    data = [event.data for event in events if event.data]
    chunks = [_chunk(one) for one in data if one != b"[DONE]"]
    return Streamed(200, chunks, done=bool(data) and data[-1] == b"[DONE]")


def _chunk(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def _why(error: Exception) -> str:
    """What went wrong, without the number that Python puts before the system's words."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
