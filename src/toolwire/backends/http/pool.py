"""The connections to one backend."""

import asyncio
import os
import socket
import ssl
from collections import deque
from collections.abc import Mapping, Sequence
from time import monotonic

from toolwire.backends.http.connection import Connection
from toolwire.backends.http.origin import Origin
from toolwire.backends.loop_budget import LoopBudget
from toolwire.errors import UpstreamTimeout, UpstreamUnavailable

_MAX_IDLE = 64
_IDLE_SECONDS = 30.0
_DRAIN_SECONDS = 1.0
_BLOCK = 64 * 1024
"""Bytes per read, which is also what may have to be buffered for a client that stops reading. After
a full block more data is waiting, and the loop would read all of it in one iteration."""


class HttpPool:
    """Connections to one origin. Idle ones are kept for a while and reused, newest first."""

    def __init__(
        self, origin: Origin, *, connect_timeout: float, budget: LoopBudget | None = None
    ) -> None:
        self.origin = origin
        self._budget = budget or LoopBudget()
        self._connect_timeout = connect_timeout
        self._idle: deque[tuple[float, Connection]] = deque()
        self._buffer = bytearray(_BLOCK)
        self._tls = ssl.create_default_context() if origin.tls else None

    def head(
        self, method: str, path: str, headers: Mapping[str, str], *, base: str | None = None
    ) -> bytes:
        """Return a request head without its length, which can be reused for similar requests.

        The path is relative to the origin's path, or to `base`.
        """
        base = self.origin.path if base is None else base
        lines = [f"{method} {base}{path} HTTP/1.1", f"host: {self.origin.authority}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "content-length: "]).encode("latin-1")

    async def send(self, head: bytes, body: Sequence[bytes]) -> Connection:
        """Send a request, and return its connection once the response's head has arrived."""
        head = b"%b%d\r\n\r\n" % (head, sum(map(len, body)))
        if (idle := self._take_idle()) is not None:
            try:
                await idle.request(head, body)
            except UpstreamUnavailable:
                # Most likely closed while idle, so not a failure yet. Do not try every idle
                # connection: a backend that fails at this request must not get it repeatedly.
                self.close()
            except BaseException:
                idle.abort()
                raise
            else:
                return idle
        connection = await self._connect()
        try:
            await connection.request(head, body)
        except BaseException:
            connection.abort()
            raise
        return connection

    def release(self, connection: Connection) -> None:
        """Return a connection to the pool, or drop it if it cannot be reused."""
        connection.resume()  # no client slows it down any more
        if connection.almost_complete:
            # The last event has arrived, but not the end of the body.
            connection.drain(_DRAIN_SECONDS, lambda: self.release(connection))
            return
        if connection.reusable and len(self._idle) < _MAX_IDLE:
            self._idle.append((monotonic(), connection))
        else:
            connection.abort()

    def close(self) -> None:
        """Drop every idle connection."""
        while self._idle:
            self._idle.pop()[1].abort()

    def _take_idle(self) -> Connection | None:
        now = monotonic()
        while self._idle and now - self._idle[0][0] > _IDLE_SECONDS:
            self._idle.popleft()[1].abort()
        while self._idle:
            connection = self._idle.pop()[1]
            if connection.alive:
                return connection
        return None

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        origin = self.origin
        try:
            async with asyncio.timeout(self._connect_timeout):
                _, connection = await loop.create_connection(
                    lambda: Connection(self._buffer, self._budget),
                    origin.host,
                    origin.port,
                    ssl=self._tls,
                )
        except TimeoutError:
            error = UpstreamTimeout(
                f"The backend at {origin.authority} did not accept a connection "
                f"within {self._connect_timeout:g} s."
            )
            error.retryable = True
            raise error from None
        except OSError as error:
            raise UpstreamUnavailable(
                f"The backend at {origin.authority} cannot be reached: {_why(error)}"
            ) from None
        return connection


def _why(error: OSError) -> str:
    """Explain a failed connection, and what to check. Not every error has an errno."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({error.verify_message}). "
            "If it is signed by an authority of your own, name its file in SSL_CERT_FILE."
        )
    if isinstance(error, ssl.SSLError):
        return f"TLS fails ({error.reason}). Does it speak https?"
    if isinstance(error, socket.gaierror):
        return f"{error.strerror}. Is the name right?"
    return f"{os.strerror(error.errno) if error.errno else error}. Is it running?"
