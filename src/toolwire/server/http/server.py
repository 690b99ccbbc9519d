"""The HTTP server: who may connect, who may stay, and for how long.

One sweep per second enforces the deadlines of all connections; the clock is read only then, so
setting a deadline costs an addition, and it is exact to within two seconds. The bodies of all
connections share a budget. Why this is not an existing server: docs/adr/0003-http-stack.md.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from toolwire.server.http.bodies import BodyBudget
from toolwire.server.http.connection import ClientConnection
from toolwire.server.http.exchange import HttpExchange
from toolwire.server.http.limits import HttpLimits
from toolwire.server.http.line import Line
from toolwire.server.http.listener import Listener
from toolwire.surfaces.exchange import HttpRequest

_BLOCK = 64 * 1024
_SWEEP = 1.0
_GOOD_TIME = 2.0
"""Seconds that a client may be silent within a request before it has to make room for another."""
_SURPLUS = 64
"""Connections beyond the limit that are still read from: one of them may be a health probe."""

App: TypeAlias = Callable[[HttpExchange], Coroutine[Any, Any, None]]


class HttpServer:
    """Listens, and hands each request to the app.

    `probe` answers health probes, at once and whatever else is under way; `refuse` answers what is
    no request, or one too many.
    """

    def __init__(
        self,
        app: App,
        limits: HttpLimits,
        *,
        probe: Callable[[HttpExchange], bool],
        admits: Callable[[HttpRequest], bool],
        refuse: Callable[[HttpExchange, int], None],
        defect: Callable[[BaseException], None],
    ) -> None:
        """`admits` says by a request's head whether its body is read before the app answers."""
        self.app = app
        self.limits = limits
        self.probe = probe
        self.bodies = BodyBudget(max(limits.bodies_bytes, limits.body_bytes))
        self.admits = admits
        self.refuse = refuse
        self.defect = defect
        self.buffer = memoryview(bytearray(_BLOCK))
        """Where all connections read into: what is read is used at once."""
        self.connections: set[ClientConnection] = set()
        self.waiting: dict[ClientConnection, None] = {}
        """Those among them that no one would miss: without a request, or refused. Idlest first."""
        self.draining = False
        self.loop = asyncio.get_running_loop()
        self.clock = self.loop.time() + _SWEEP
        """When the next sweep will be, at the latest: the time from which deadlines count."""
        self.line: Line[ClientConnection] = Line(self.loop, limits.queue_seconds)
        """Requests that wait for their turn."""
        self._stalled_at = 0.0
        self._listener = Listener(lambda: ClientConnection(self), self._make_room)
        self._finishing: set[ClientConnection] = set()
        self._finished = asyncio.Event()
        self._sweeper: asyncio.TimerHandle | None = None

    # Who may stay.

    def came(self, connection: ClientConnection) -> bool:
        """A connection was made; whether there is room for it, or could be made."""
        if len(self.connections) >= self.limits.connections:
            self._make_room()
        self.connections.add(connection)
        self.waiting[connection] = None
        return len(self.connections) <= self.limits.connections

    @property
    def full(self) -> bool:
        """Whether there are even more connections than are read from beyond the limit."""
        return len(self.connections) > self.limits.connections + _SURPLUS

    def left(self, connection: ClientConnection) -> None:
        """A connection is gone."""
        self.connections.discard(connection)
        self.waiting.pop(connection, None)
        self._finishing.discard(connection)
        if not self._finishing:
            self._finished.set()

    def _make_room(self) -> bool:
        """Let go of the idlest connection; False if all are in use."""
        idlest = next(iter(self.waiting), None) or self._most_silent()
        if idlest is None:
            return False
        self.waiting.pop(idlest, None)
        self.connections.discard(idlest)
        idlest.evict()
        return True

    def _most_silent(self) -> ClientConnection | None:
        """Who has stalled within a request for the longest. Not looked for all the time."""
        if self._stalled_at == self.clock:
            return None  # nobody had, and the clock stands still until the next sweep
        found = max(self.connections, key=lambda c: c.silent, default=None)
        if found is not None and found.silent >= _GOOD_TIME:
            return found
        self._stalled_at = self.clock
        return None

    # From the first connection to the last.

    async def open(self, host: str, port: int, *, tls: ssl.SSLContext | None = None) -> int:
        """Start to listen; the port, which the system chose if it was 0."""
        seconds = self.limits.header_seconds
        port = await self._listener.open(host, port, tls=tls, handshake_seconds=seconds)
        self._sweep()
        return port

    async def aclose(self, grace: float) -> None:
        """Let answers finish for `grace` seconds, then end them. Until then we go on listening:
        health probes are answered, and other requests are told that we are about to stop."""
        self.draining = True
        for connection in list(self.connections):
            if not connection.busy:
                connection.cancel()
        await self._finish(grace)
        self._listener.close()
        for connection in list(self.connections):
            connection.cancel()
        await self._finish(2.0)
        if self._sweeper is not None:
            self._sweeper.cancel()

    async def _finish(self, seconds: float) -> None:
        """Wait until every connection that there is now is gone."""
        self._finishing = set(self.connections)
        if self._finishing:
            self._finished.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._finished.wait(), seconds)

    def _sweep(self) -> None:
        now = self.loop.time()
        self.clock = now + _SWEEP
        for connection in [c for c in self.connections if 0.0 < c.deadline < now]:
            connection.overdue()
        self.bodies.tidy()
        self._sweeper = self.loop.call_later(_SWEEP, self._sweep)
